#include "store/tuned_file.h"
#include <algorithm>
#include "platform/environment.h"
#include "platform/files.h"
#include "platform/log.h"
#include "problem/error.h"

namespace speedlight {
namespace {

std::string file_text(const std::string& path) {
  const auto bytes = platform::read_file(path);
  return bytes ? std::string(bytes->begin(), bytes->end()) : std::string();
}

// True when the line is a row for the same problems as one of `rows`.
bool replaced(const std::string& line, const std::vector<TunedRow>& rows) {
  if (line.empty() || line.front() == '#') return false;
  try {
    const TunedRow old = parse_tuned_row(line);
    return std::ranges::any_of(rows, [&](const TunedRow& row) { return same_place(row, old); });
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string tuned_path() {
  if (const auto path = platform::environment("SPEEDLIGHT_TUNED")) return *path == "off" ? "" : *path;
  if (const auto folder = platform::environment("XDG_CONFIG_HOME")) return *folder + "/speedlight/tuned.txt";
  const std::string home = platform::home_folder();
  return home.empty() ? home : home + "/.config/speedlight/tuned.txt";
}

UserTable read_tuned(const std::string& path) {
  std::string fault;
  UserTable table = parse_user_table(path.empty() ? "" : file_text(path), fault);
  if (!fault.empty()) log(LogLevel::warning, path + ": rows were skipped: " + fault);
  return table;
}

const UserTable* tuned_table() {
  static const UserTable& table = *new UserTable(read_tuned(tuned_path()));  // never destroyed: threads may still plan at exit
  return table.rows.empty() ? nullptr : &table;
}

void write_tuned(const std::string& path, const std::vector<TunedRow>& rows, const std::vector<TunedRow>& unwanted) {
  std::string text;
  const std::string old = file_text(path);
  for (std::size_t at = 0; at < old.size();) {
    const std::size_t end = std::min(old.find('\n', at), old.size());
    const std::string line = old.substr(at, end - at);
    if (!replaced(line, rows) && !replaced(line, unwanted)) text += line + "\n";
    at = end + 1;
  }
  if (text.empty()) text = "# Rows of `speedlight tune`, read by plan; SPEEDLIGHT_TUNED=off ignores them.\n";
  for (const TunedRow& row : rows) text += to_text(row) + "\n";
  const std::size_t slash = path.rfind('/');
  std::string why;
  if (slash != std::string::npos && slash > 0 && !platform::exists(path.substr(0, slash)))
    why = platform::make_private_folder(path.substr(0, slash));
  if (why.empty()) why = platform::write_file_atomically(path, {reinterpret_cast<const u8*>(text.data()), text.size()});
  if (!why.empty()) throw Error(Status::invalid_argument, "tuned rows cannot be written to " + path + ": " + why);
}

}  // namespace speedlight
