#include "store/bundle.h"

#include "store/sources.h"
#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

BundleItem item(const KernelConfig& config, int target, std::size_t size, u8 first) {
  const std::string text = "made up " + to_text(Recipe{config, target}) + "\n";
  return {{config, target}, {text, sha256(text)}, made_up_code(size, first)};
}

std::vector<BundleItem> some_items() {
  std::vector<BundleItem> items;
  u8 first = 0;
  for (const int target : {80, 120})
    for (const u8 bytes : {u8(2), u8(4)})
      for (const bool forward : {false, true})
        items.push_back(forward ? item(ForwardConfig{{.dtype = bytes == 2 ? DType::fp16 : DType::bf16}, {}}, target, 3'000'000, ++first)
                                : item(PackConfig{.element_bytes = bytes}, target, 5000, ++first));
  return items;
}

TEST(Bundle, HoldsEveryEntry) {
  const auto items = some_items();
  const std::string digest(64, 'd');
  const auto bytes = write_bundle(items, digest, "NVRTC 12.8");
  const Bundle bundle(bytes);
  EXPECT_EQ(bundle.problem(), "");
  EXPECT_EQ(bundle.size(), items.size());
  EXPECT_EQ(bundle.producer(), "NVRTC 12.8");
  EXPECT_EQ(bundle.source_digest(), digest);
  EXPECT_EQ(bundle.targets(), (std::vector<std::pair<int, int>>{{80, 4}, {120, 4}}));
  for (const BundleItem& one : items) {
    const auto code = bundle.find(one.identity);
    ASSERT_TRUE(code) << one.identity.text;
    expect_same(*code, one.code);
    EXPECT_EQ(code->origin, "bundle");
  }
  EXPECT_FALSE(bundle.find({"absent", sha256("absent")}));
}

TEST(Bundle, EmptyOnesFindNothing) {
  EXPECT_EQ(Bundle({}).size(), 0u);
  EXPECT_FALSE(Bundle({}).find(some_items()[0].identity));
  const auto bytes = write_bundle({}, std::string(64, 'd'), "");
  EXPECT_EQ(Bundle(bytes).problem(), "");
  EXPECT_FALSE(Bundle(bytes).find(some_items()[0].identity));
}

TEST(Bundle, DamageIsAMissNeverMore) {
  std::vector<BundleItem> items{item(PackConfig{.element_bytes = 2}, 120, 300, 1), item(PackConfig{.element_bytes = 4}, 120, 300, 2)};
  const auto bytes = write_bundle(items, std::string(64, 'd'), "NVRTC 12.8");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= 0x41;
    const Bundle bundle(changed);
    for (const BundleItem& one : items)
      if (const auto code = bundle.find(one.identity)) expect_same(*code, one.code);
    auto cut = bytes;
    cut.resize(i);
    const Bundle shorter(cut);
    for (const BundleItem& one : items)
      if (const auto code = shorter.find(one.identity)) expect_same(*code, one.code);
  }
}

TEST(Bundle, TwiceTheSameEntryIsAnError) {
  EXPECT_THROW(write_bundle({item(pack_config(), 120, 10, 1), item(pack_config(), 120, 10, 1)}, std::string(64, 'd'), ""), Error);
}

TEST(Bundle, EmbeddedOneHasPtxOfEveryGenericKernel) {
  const Bundle bundle(embedded_bundle());
  if (!bundle.find(identity_of(pack_config(), 80))) GTEST_SKIP() << "built without a bundle, or for other targets";
  for (const KernelConfig& config : bundled_configs(ptx_target)) {
    const auto code = bundle.find(identity_of(config, ptx_target));
    ASSERT_TRUE(code) << to_text(config);
    EXPECT_TRUE(code->is_ptx()) << to_text(config);
    const std::string text(code->cubin.begin(), code->cubin.end());
    EXPECT_EQ(text.find('\0'), text.size() - 1) << to_text(config);
    EXPECT_NE(text.find(".target sm_80\n"), std::string::npos) << to_text(config);
    EXPECT_NE(text.find(".entry " + kernel_symbol(config)), std::string::npos) << to_text(config);
  }
}

// The bundle inside this build was made from the sources inside this build, and none of its entries is lost.
TEST(Bundle, EmbeddedOneFitsTheSources) {
  const Bundle bundle(embedded_bundle());
  EXPECT_EQ(bundle.problem(), "");
  if (bundle.size() == 0) GTEST_SKIP() << "built without a bundle";
  EXPECT_EQ(bundle.source_digest(), DeviceSources::current().digest());
  for (const auto& [target, count] : bundle.targets()) {
    const auto configs = bundled_configs(target);
    EXPECT_EQ(configs.size(), std::size_t(count));
    for (const std::size_t i : {std::size_t(0), configs.size() / 2, configs.size() - 1})
      EXPECT_TRUE(bundle.find(identity_of(configs[i], target))) << to_text(Recipe{configs[i], target});
  }
}

}  // namespace
}  // namespace speedlight::store
