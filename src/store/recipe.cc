#include "store/recipe.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "plan/plan.h"

namespace speedlight {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool only_tools_launch(const KernelConfig& c) {
  return std::holds_alternative<ReferenceConfig>(c) || std::holds_alternative<CeilingConfig>(c) || std::holds_alternative<DigestConfig>(c);
}

using Get = Code (*)(const Recipe&);

void get_parallel(std::span<const Recipe> recipes, unsigned threads, Get get, const std::function<void(CompileResult&&)>& done) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < recipes.size(); i = next++) {
      CompileResult result;
      result.index = i;
      try {
        result.code = get(recipes[i]);
      } catch (...) {
        result.error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (failure) return;
      try {
        done(std::move(result));
      } catch (...) {
        failure = std::current_exception();
        next = recipes.size();
      }
    }
  };
  std::vector<std::jthread> workers;
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, recipes.size()); ++i) workers.emplace_back(work);
  work();
  workers.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

std::string target_name(int target) { return is_ptx(target) ? "compute_" + std::to_string(-target) : "sm_" + std::to_string(target); }

std::string to_text(const Recipe& recipe) { return to_text(recipe.config) + " @ " + target_name(recipe.target); }

int parse_target(std::string_view text) {
  const std::string_view number = text.substr(std::min(text.find('_') + 1, text.size()));
  int architecture = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), architecture);
  if (error == std::errc{} && architecture >= 80 && architecture < 1000)
    for (const int target : {architecture, -architecture})
      if (text == target_name(target)) return target;
  throw Error(Status::invalid_argument,
              "target '" + std::string(text) + "': must be sm_ and a number from 80, such as sm_120, or compute_80 for PTX");
}

Recipe parse_recipe(std::string_view line) {
  const std::size_t at = line.find('@');
  if (at == std::string_view::npos)
    throw Error(Status::invalid_argument, "recipe '" + std::string(line) + "': must be '<config> @ sm_<number>'");
  return {parse_config(trim(line.substr(0, at))), parse_target(trim(line.substr(at + 1)))};
}

std::vector<Recipe> parse_recipes(std::string_view text) {
  std::vector<Recipe> recipes;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::string_view line = trim(whole.substr(0, whole.find('#')));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    try {
      recipes.push_back(parse_recipe(line));
    } catch (const Error& error) {
      throw Error(error.status(), "line " + std::to_string(number) + ": " + error.what());
    }
  }
  return recipes;
}

std::vector<KernelConfig> bundled_configs(int target) {
  std::vector<KernelConfig> configs = shipped_configs(std::abs(target));
  if (is_ptx(target)) std::erase_if(configs, only_tools_launch);
  return configs;
}

void compile_parallel(std::span<const Recipe> recipes, unsigned threads, const std::function<void(CompileResult&&)>& done) {
  get_parallel(
      recipes, threads, [](const Recipe& recipe) { return compile(recipe.config, recipe.target); }, done);
}

void find_parallel(std::span<const Recipe> recipes, unsigned threads, const std::function<void(CompileResult&&)>& done) {
  get_parallel(
      recipes, threads, [](const Recipe& recipe) { return *find_code(recipe.config, recipe.target); }, done);
}

}  // namespace speedlight
