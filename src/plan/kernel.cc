#include "plan/kernel.h"
#include <charconv>
#include <limits>
#include <utility>
#include "config/backward_shared.h"
#include "config/forward_shared.h"
#include "plan/facts.h"
#include "plan/fields.h"
#include "plan/tables.h"
#include "problem/error.h"

namespace speedlight {
namespace {

using plan::EnumText;
using plan::KernelText;

struct TextWriter {
  std::string text;

  template <class N>
  void number(std::string_view prefix, std::string_view, N value) {
    text += prefix;
    text += std::to_string(unsigned{value});
  }
  template <class N>
  void number_unless(std::string_view prefix, std::string_view name, N value, N same) {
    if (value != same) number(prefix, name, value);
  }
  template <class E>
  void word(std::string_view, E value) {
    const auto index = std::size_t(value);
    if (EnumText<E>::first_is_silent && index == 0) return;
    text += '.';
    text += EnumText<E>::names.at(index);
  }
  void flag(std::string_view name, bool value) {
    if (!value) return;
    text += '.';
    text += name;
  }
  template <class T, class F>
  void group(std::string_view, const T& member, F visit) {
    visit(*this, member);
  }
};

// The designated initialiser of a config, as C++.
struct SourceWriter {
  std::string text;

  void name_field(std::string_view name) {
    if (!text.empty() && text.back() != '{') text += ", ";
    text += '.';
    text += name;
    text += " = ";
  }
  template <class N>
  void number(std::string_view, std::string_view name, N value) {
    name_field(name);
    text += std::to_string(unsigned{value});
  }
  template <class N>
  void number_unless(std::string_view prefix, std::string_view name, N value, N) {
    number(prefix, name, value);
  }
  template <class E>
  void word(std::string_view name, E value) {
    name_field(name);
    text += EnumText<E>::type;
    text += "::";
    text += EnumText<E>::names.at(std::size_t(value));
  }
  void flag(std::string_view name, bool value) {
    name_field(name);
    text += value ? "true" : "false";
  }
  template <class T, class F>
  void group(std::string_view name, const T& member, F visit) {
    name_field(name);
    text += '{';
    visit(*this, member);
    text += '}';
  }
};

class TextReader {
 public:
  TextReader(std::string_view whole, std::size_t at) : whole_(whole), at_(at) {}

  template <class N>
  void number(std::string_view prefix, std::string_view name, N& value) {
    const std::string_view rest = whole_.substr(at_);
    if (!rest.starts_with(prefix)) fail(std::string(name) + " ('" + std::string(prefix) + "' and a number)");
    const char* begin = rest.data() + prefix.size();
    const char* end = rest.data() + rest.size();
    unsigned read = 0;
    const auto [stop, error] = std::from_chars(begin, end, read);
    const bool padded = stop - begin > 1 && *begin == '0';  // a second spelling of the same number
    if (error != std::errc{} || padded || read > std::numeric_limits<N>::max())
      fail(std::string(name) + ", a number of at most " + std::to_string(unsigned{std::numeric_limits<N>::max()}) +
           " without leading zeros");
    value = N(read);
    at_ += prefix.size() + std::size_t(stop - begin);
  }
  template <class N>
  void number_unless(std::string_view prefix, std::string_view name, N& value, const N& same) {
    value = same;
    if (!whole_.substr(at_).starts_with(prefix)) return;
    number(prefix, name, value);
    if (value == same) fail("no '" + std::string(prefix) + "' that repeats the number before it", at_);
  }
  template <class E>
  void word(std::string_view name, E& value) {
    const std::string_view found = next_word();
    std::string allowed;
    for (std::size_t i = EnumText<E>::first_is_silent ? 1 : 0; i < EnumText<E>::names.size(); ++i) {
      if (found == EnumText<E>::names[i]) {
        value = E(i);
        at_ += found.size() + 1;
        return;
      }
      allowed += (allowed.empty() ? "" : ", ") + std::string(EnumText<E>::names[i]);
    }
    if (!EnumText<E>::first_is_silent) fail(std::string(name) + " (one of " + allowed + ")");
    value = E(0);
  }
  void flag(std::string_view name, bool& value) {
    value = next_word() == name;
    if (value) at_ += name.size() + 1;
  }
  template <class T, class F>
  void group(std::string_view, T& member, F visit) {
    visit(*this, member);
  }
  void finish() {
    if (at_ != whole_.size()) fail("the end");
  }
  [[noreturn]] void fail(const std::string& expected) { fail(expected, at_); }

 private:
  // The text between a '.' here and the next one; empty when there is none.
  std::string_view next_word() const {
    const std::string_view rest = whole_.substr(at_);
    if (!rest.starts_with('.')) return {};
    return rest.substr(1, rest.find('.', 1) - 1);
  }
  [[noreturn]] void fail(const std::string& expected, std::size_t at) {
    throw Error(Status::invalid_argument, "config text '" + std::string(whole_) + "': at '" + std::string(whole_.substr(at)) +
                                              "' (character " + std::to_string(at) + "): expected " + expected);
  }

  std::string_view whole_;
  std::size_t at_;
};

// Tries the I-th alternative of KernelConfig whose tag begins the text.
template <std::size_t I = 0>
KernelConfig parse_alternative(std::string_view text, std::string_view tag) {
  if constexpr (I == std::variant_size_v<KernelConfig>) {
    throw Error(Status::invalid_argument, "config text '" + std::string(text) + "': it begins with '" + std::string(tag) +
                                              "': must be one of fwd, bwd_pre, bwd, bwd_post, pack, ref, ceiling, digest");
  } else {
    using Config = std::variant_alternative_t<I, KernelConfig>;
    if (tag != KernelText<Config>::tag) return parse_alternative<I + 1>(text, tag);
    Config config;
    TextReader reader(text, tag.size());
    plan::fields(reader, config);
    reader.finish();
    return config;
  }
}

int min_blocks(const ForwardConfig& c) { return c.tuning.blocks; }
int min_blocks(const BackwardConfig& c) { return c.tuning.blocks; }
template <class Config>
int min_blocks(const Config&) {
  return 1;
}

i64 shared_of(const ForwardConfig& c) { return forward_shared(c).bytes; }
i64 shared_of(const BackwardConfig& c) { return backward_shared(c).bytes; }
template <class Config>
i64 shared_of(const Config&) {
  return 0;
}

bool is_valid(const ForwardConfig& c) { return c.valid(); }
bool is_valid(const BackwardConfig& c) { return c.valid(); }
bool is_valid(const CeilingConfig& c) { return c.dtype != DType::fp32; }
bool is_valid(const DigestConfig&) { return true; }
bool is_valid(const PackConfig& c) { return c.element_bytes == 2 || c.element_bytes == 4; }
bool is_valid_element(const Spec& s) {
  return (s.head_dim == 64 || s.head_dim == 128) && s.value_dim == s.head_dim && s.dtype != DType::fp32;
}
bool is_valid(const PostprocessConfig& c) {
  const DqLayout& l = c.layout;
  const bool divides = l.warps_m > 0 && l.warps_n > 0 && l.rows % (16 * l.warps_m) == 0 && l.cols % (8 * l.warps_n) == 0;
  return is_valid_element(c.spec) && divides && l.rows > 0 && l.cols == c.spec.head_dim;
}
template <class Config>
bool is_valid(const Config& c) {
  return is_valid_element(c.spec);
}

bool needs_sm_90(const ForwardConfig& c) { return plan::needs_sm_90(c.tuning); }
bool needs_sm_90(const BackwardConfig& c) { return plan::needs_sm_90(c.tuning); }
template <class Config>
bool needs_sm_90(const Config&) {
  return false;
}

}  // namespace

std::string to_text(const KernelConfig& config) {
  return std::visit(
      [](const auto& c) {
        TextWriter writer;
        writer.text = KernelText<std::decay_t<decltype(c)>>::tag;
        plan::fields(writer, c);
        return writer.text;
      },
      config);
}

KernelConfig parse_config(std::string_view text) { return parse_alternative(text, text.substr(0, text.find('.'))); }

std::string kernel_symbol(const KernelConfig& config) {
  std::string symbol = "speedlight_" + to_text(config);
  for (char& c : symbol)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) c = '_';
  return symbol;
}

std::string kernel_source(const KernelConfig& config) {
  return std::visit(
      [&](const auto& c) {
        using Text = KernelText<std::decay_t<decltype(c)>>;
        SourceWriter fields;
        plan::fields(fields, c);
        const std::string entry(Text::entry);
        std::string source = "#include \"kernels/" + entry + ".h\"\n\nusing namespace speedlight;\n\n";
        source +=
            "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(c.threads()) + ", " + std::to_string(min_blocks(c)) + ")\n";
        source += kernel_symbol(config) + "(const __grid_constant__ " + std::string(Text::params) + " params) {\n";
        source += "  constexpr " + std::string(Text::type) + " config{" + fields.text + "};\n";
        source += "  kernels::" + entry + "<config>(params);\n}\n";
        return source;
      },
      config);
}

std::string tuning_source(const KernelConfig& config) {
  return std::visit(
      [](const auto& c) {
        SourceWriter writer;
        if constexpr (requires { c.tuning; }) {
          writer.text = "{";
          plan::fields(writer, c.tuning);
          writer.text += "}";
        }
        return writer.text;
      },
      config);
}

i32 threads(const KernelConfig& config) {
  return std::visit([](const auto& c) { return i32(c.threads()); }, config);
}

i64 shared_bytes(const KernelConfig& config) {
  return std::visit([](const auto& c) { return shared_of(c); }, config);
}

bool runs_on(const KernelConfig& config, int target) {
  return std::visit([&](const auto& c) { return is_valid(c) && (target >= 90 || !needs_sm_90(c)) && shared_of(c) <= shared_limit(target); },
                    config);
}

}  // namespace speedlight
