#include "case.h"
#include <fmt/format.h>
#include <cstring>
#include "cpu/element.h"

namespace speedlight::cli {
namespace {

constexpr u16 poison = 0xfffd;  // a NaN in fp16 and bf16; twice, in fp32
constexpr i64 guard = 256;

// Normal numbers from a table: generating the data must not cost more than checking it.
struct Normals {
  float values[4096];
  Normals() {
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    for (float& v : values) v = normal(random);
  }
};

u64 mix(u64& state) {
  state += 0x9e3779b97f4a7c15ull;
  u64 z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::string layout_text(const char* name, const TensorLayout& t) {
  return fmt::format(" {}({},{},{}{}{})", name, t.batch, t.row, t.head, t.alignment < 16 ? fmt::format(" align {}", t.alignment) : "",
                     t.dtype == DType::fp32 ? " fp32" : "");
}

std::string bound_text(i64 v) { return v == Window::unlimited ? "none" : std::to_string(v); }

}  // namespace

std::string Case::text() const {
  const Problem& p = problem;
  std::string text =
      fmt::format("{} b{} hq{} hkv{} sq{} sk{} d{} scale {} window {},{}", p.dtype == DType::bf16 ? "bf16" : "fp16", p.batch, p.heads_q,
                  p.heads_kv, p.seqlen_q, p.seqlen_k, p.head_dim, p.scale, bound_text(p.window.left), bound_text(p.window.right));
  text += layout_text("q", p.q) + layout_text("k", p.k) + layout_text("v", p.v) + layout_text("out", p.out) + layout_text("dout", p.dout);
  text += layout_text("dq", p.dq) + layout_text("dk", p.dk) + layout_text("dv", p.dv);
  text += fmt::format(" want {}{}{}{}{} {}", p.want_lse ? "" : "no-lse ", p.want_dq ? "dq" : "", p.want_dk ? " dk" : "",
                      p.want_dv ? " dv" : "", p.has_dlse ? " dlse" : "", special);
  return text;
}

i64 extent_bytes(const TensorLayout& t, i64 batch, i64 rows, i64 heads, i64 dim) {
  if (batch == 0 || rows == 0 || heads == 0) return 0;
  return ((batch - 1) * t.batch + (rows - 1) * t.row + (heads - 1) * t.head + dim) * size_of(t.dtype);
}

template <class Visit>
void Arena::visit(const Block& b, Visit visit) {
  for (i64 n = 0; n < b.batch; ++n)
    for (i64 r = 0; r < b.rows; ++r)
      for (i64 h = 0; h < b.heads; ++h)
        visit(n, r, h, b.offset + (n * b.layout.batch + r * b.layout.row + h * b.layout.head) * size_of(b.layout.dtype));
}

void Arena::place(const char* name, const TensorLayout& layout, i64 batch, i64 rows, i64 heads, i64 dim, bool output) {
  const i64 misalign = layout.alignment >= 16 ? 0 : layout.alignment;  // exactly as aligned as the layout says
  const i64 offset = round_up(size_ + guard, guard) + misalign;
  blocks_.push_back({name, layout, batch, rows, heads, dim, offset, output});
  size_ = offset + extent_bytes(layout, batch, rows, heads, dim);
}

Arena::Arena(const Case& c, i64 workspace_bytes) : workspace_bytes_(workspace_bytes) {
  const Problem& p = c.problem;
  const auto per_query = [&](const char* name, const TensorLayout& t, i64 dim, bool output) {
    place(name, t, p.batch, p.seqlen_q, p.heads_q, dim, output);
  };
  const auto per_key = [&](const char* name, const TensorLayout& t, i64 dim, bool output) {
    place(name, t, p.batch, p.seqlen_k, p.heads_kv, dim, output);
  };
  per_query("q", p.q, p.head_dim, false);
  per_key("k", p.k, p.head_dim, false);
  per_key("v", p.v, p.value_dim, false);
  per_query("dout", p.dout, p.value_dim, false);
  per_query("out", p.out, p.value_dim, true);
  if (p.want_dq) per_query("dq", p.dq, p.head_dim, true);
  if (p.want_dk) per_key("dk", p.dk, p.head_dim, true);
  if (p.want_dv) per_key("dv", p.dv, p.value_dim, true);
  const TensorLayout rows{DType::fp32, p.heads_q * p.seqlen_q, 1, p.seqlen_q, 16};
  place("lse", rows, p.batch, p.seqlen_q, p.heads_q, 1, true);
  if (p.has_dlse) place("dlse", rows, p.batch, p.seqlen_q, p.heads_q, 1, false);
  workspace_ = round_up(size_ + guard, guard);
  size_ = round_up(workspace_ + workspace_bytes + guard, guard);

  bytes_.resize(size_t(size_));
  for (i64 i = 0; i < size_; i += 2) std::memcpy(&bytes_[size_t(i)], &poison, 2);
  writable_.resize(size_t(size_ / 2));
  std::fill_n(writable_.begin() + workspace_ / 2, workspace_bytes / 2, true);
  for (const Block& block : blocks_) {
    if (!block.output) {
      fill(block, c);
      continue;
    }
    const i64 row_units = block.dim * size_of(block.layout.dtype) / 2;
    visit(block, [&](i64, i64, i64, i64 at) { std::fill_n(writable_.begin() + at / 2, row_units, true); });
  }
}

void Arena::fill(const Block& b, const Case& c) {
  static const Normals normals;
  u64 state = c.seed;
  for (const char* s = b.name; *s; ++s) state = mix(state) ^ u64(*s);
  const bool query = std::strcmp(b.name, "q") == 0, key = std::strcmp(b.name, "k") == 0;
  visit(b, [&](i64, i64 row, i64, i64 at) {
    const float factor = (query || key) && row % 37 == 5 ? c.outlier : 1;
    for (i64 d = 0; d < b.dim; ++d) {
      float v = normals.values[mix(state) >> 52] * factor;
      if (c.shift != 0 && d == 0 && (query || key)) v = query ? 16 : c.shift;
      write_element(&bytes_[size_t(at)], d, b.layout.dtype, v);
    }
  });
}

const Arena::Block* Arena::find(const char* name) const {
  for (const Block& b : blocks_)
    if (std::strcmp(b.name, name) == 0) return &b;
  return nullptr;
}

Pointers Arena::pointers(void* base) const {
  const auto at = [&](const char* name) -> void* {
    const Block* b = find(name);
    return b ? static_cast<u8*>(base) + b->offset : nullptr;
  };
  Pointers p;
  p.q = at("q"), p.k = at("k"), p.v = at("v"), p.out = at("out"), p.dout = at("dout");
  p.lse = static_cast<float*>(at("lse")), p.dlse = static_cast<const float*>(at("dlse"));
  p.dq = at("dq"), p.dk = at("dk"), p.dv = at("dv");
  p.workspace = static_cast<u8*>(base) + workspace_, p.workspace_bytes = workspace_bytes_;
  return p;
}

void Arena::write_loss_gradients(const std::vector<u8>& after) {
  const auto gradient = [&](const Block& value, const Block& to, float factor) {
    const float count = float(value.batch * value.rows * value.heads * value.dim);
    visit(value, [&](i64 n, i64 row, i64 head, i64 from) {
      const i64 at = to.offset + (n * to.layout.batch + row * to.layout.row + head * to.layout.head) * size_of(to.layout.dtype);
      for (i64 d = 0; d < value.dim; ++d)
        write_element(&bytes_[size_t(at)], d, to.layout.dtype, factor / count * read_element(&after[size_t(from)], d, value.layout.dtype));
    });
  };
  gradient(*find("out"), *find("dout"), 2);
  gradient(*find("lse"), *find("dlse"), 2e-3f);
}

std::string Arena::damage(const std::vector<u8>& after) const {
  if (std::memcmp(bytes_.data(), after.data(), bytes_.size()) == 0) return "";
  for (i64 i = 0; i < size_; i += 2) {
    if (writable_[size_t(i / 2)] || std::memcmp(&bytes_[size_t(i)], &after[size_t(i)], 2) == 0) continue;
    const char* where = "before q";
    i64 start = 0;
    for (const Block& b : blocks_)
      if (b.offset <= i) where = b.name, start = b.offset;
    if (workspace_ <= i) where = "workspace", start = workspace_;
    return fmt::format("byte {} counted from the start of {} was overwritten (an input, a gap between rows or a guard band)", i - start,
                       where);
  }
  return "";
}

}  // namespace speedlight::cli
