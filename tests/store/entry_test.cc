#include "store/entry.h"

#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

constexpr std::string_view identity = "speedlight 1\nconfig x\ntarget sm_120\n";

TEST(Entry, RoundTrip) {
  for (const std::size_t size : {0, 1, 63, 1000, 100'000}) {
    const Code code = made_up_code(size);
    const auto read = read_entry(identity, write_entry(identity, code));
    ASSERT_TRUE(read.has_value()) << size;
    expect_same(*read, code);
  }
}

TEST(Entry, AnotherIdentityIsAMiss) {
  const auto bytes = write_entry(identity, made_up_code());
  EXPECT_FALSE(read_entry("speedlight 1\nconfig y\ntarget sm_120\n", bytes));
  EXPECT_FALSE(read_entry("speedlight 1\nconfig x\n", bytes));  // a prefix is not enough
  EXPECT_FALSE(read_entry("", bytes));
}

TEST(Entry, EveryCutIsAMiss) {
  const auto bytes = write_entry(identity, made_up_code(100));
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_entry(identity, std::span(bytes).first(size))) << size;
  auto longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(read_entry(identity, longer));
}

TEST(Entry, EveryChangedByteIsAMiss) {
  const auto bytes = write_entry(identity, made_up_code(100));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= 1;
    EXPECT_FALSE(read_entry(identity, changed)) << i;
  }
}

}  // namespace
}  // namespace speedlight::store
