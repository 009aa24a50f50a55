#include "store/code_store.h"

#include <fstream>
#include <thread>

#include "store/sources.h"
#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

class CodeStoreTest : public StoreTest {
 protected:
  // Made-up code under the identity of a real config.
  static BundleItem shipped(const KernelConfig& config, int target) {
    return {{config, target}, identity_of(config, target), made_up_code(1000, is_ptx(target) ? '/' : 0x7f)};
  }
  static std::vector<u8> bundle_of(std::vector<BundleItem> items) {
    return write_bundle(std::move(items), DeviceSources::current().digest(), "NVRTC 12.8");
  }
  static std::vector<u8> bundle_with_pack() { return bundle_of({shipped(pack_config(), 120)}); }
};

TEST_F(CodeStoreTest, LooksInMemoryBundleDiskThenCompiles) {
  SPEEDLIGHT_NEEDS_NVRTC();
  const auto bytes = bundle_with_pack();
  CodeStore first(bytes, cache_folder());
  EXPECT_EQ(first.find(pack_config(), 120)->origin, "bundle");
  const auto compiled = first.find(pack_config(), 90);
  EXPECT_EQ(compiled->origin, "compiled");
  EXPECT_EQ(first.find(pack_config(), 90), compiled);

  CodeStore second(bytes, cache_folder());
  const auto cached = second.find(pack_config(), 90);
  EXPECT_EQ(cached->origin, "disk");
  EXPECT_EQ(cached->cubin, compiled->cubin);
  EXPECT_EQ(cached->registers, compiled->registers);
  EXPECT_TRUE(warnings().empty());
}

// No compiler knows sm_999: what a GPU of the future is to this build.
TEST_F(CodeStoreTest, PtxComesAfterMachineCodeAndNvrtc) {
  const auto bytes = bundle_of({shipped(pack_config(), 120), shipped(pack_config(), ptx_target)});
  DiskCache(cache_folder()).save(identity_of(pack_config(), 998), made_up_code());
  CodeStore store(bytes, cache_folder());
  EXPECT_EQ(store.find(pack_config(), 120)->cubin, shipped(pack_config(), 120).code.cubin);
  EXPECT_EQ(store.find(pack_config(), 998)->origin, "disk");
  EXPECT_FALSE(store.find_shipped(pack_config(), 999));
  EXPECT_TRUE(infos().empty());
  const auto ptx = store.find(pack_config(), 999);
  EXPECT_EQ(ptx->cubin, shipped(pack_config(), ptx_target).code.cubin);
  EXPECT_TRUE(ptx->is_ptx());
  EXPECT_EQ(ptx->origin, "bundle");
  EXPECT_EQ(store.find(pack_config(), 999), ptx);
  ASSERT_EQ(infos().size(), 1u);
  EXPECT_NE(infos()[0].find("pack.e2 @ compute_80 for sm_999"), std::string::npos) << infos()[0];
  EXPECT_EQ(files_in(cache_folder()).size(), 1u) << "PTX is not kept on disk";
  if (have_nvrtc()) {
    EXPECT_EQ(store.find(pack_config(), 90)->origin, "compiled");
  }
}

TEST_F(CodeStoreTest, PtxServesWhereNvrtcRejects) {
  SPEEDLIGHT_NEEDS_NVRTC();
  const KernelConfig config = BackwardConfig{{.head_dim = 64, .value_dim = 64}, {.rows = 64, .add = VectorAdd::v4}};  // not of sm_80
  const auto bytes = bundle_of({shipped(config, ptx_target)});
  EXPECT_TRUE(CodeStore(bytes, cache_folder()).find(config, 80)->is_ptx());
  EXPECT_EQ(warnings().size(), 1u);
  EXPECT_THROW(CodeStore({}, cache_folder()).find(config, 80), Error);
}

TEST_F(CodeStoreTest, DamagedPtxIsAMiss) {
  auto bytes = bundle_of({shipped(pack_config(), ptx_target)});
  bytes.back() ^= 0x41;
  CodeStore store(bytes, cache_folder());
  try {
    store.find(pack_config(), 999);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::no_compiler);
    EXPECT_NE(std::string(error.what()).find("\npack.e2 @ sm_999"), std::string::npos) << error.what();
  }
}

TEST_F(CodeStoreTest, JitOffForbidsPtxToo) {
  const auto bytes = bundle_of({shipped(pack_config(), ptx_target)});
  CodeStore store(bytes, cache_folder());
  {
    const ScopedEnvironment jit("SPEEDLIGHT_JIT", "off");
    EXPECT_THROW(store.find(pack_config(), 999), Error);
  }
  EXPECT_TRUE(store.find(pack_config(), 999)->is_ptx());
}

TEST_F(CodeStoreTest, ShippedMeansMemoryOrBundle) {
  const auto bytes = bundle_with_pack();
  CodeStore store(bytes, cache_folder());
  ASSERT_TRUE(store.find_shipped(pack_config(), 120));
  EXPECT_EQ(store.find_shipped(pack_config(), 120), store.find(pack_config(), 120));
  EXPECT_FALSE(store.find_shipped(pack_config(), 90));
}

TEST_F(CodeStoreTest, OneCompilePerKey) {
  SPEEDLIGHT_NEEDS_NVRTC();
  CodeStore store({}, cache_folder());
  std::vector<std::shared_ptr<const Code>> found(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < found.size(); ++i)
      threads.emplace_back([&, i] { found[i] = store.find(pack_config(), i % 2 == 0 ? 120 : 90); });
  }
  for (std::size_t i = 2; i < found.size(); ++i) EXPECT_EQ(found[i], found[i % 2]);
  EXPECT_EQ(infos().size(), 2u);  // one message a compile
}

TEST_F(CodeStoreTest, ProcessesCompileOneKeySideBySide) {
  SPEEDLIGHT_NEEDS_NVRTC();
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i)
    children.push_back(start_child([&] { return CodeStore({}, cache_folder()).find(pack_config(), 120)->cubin.empty() ? 1 : 0; }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(CodeStore({}, cache_folder()).find(pack_config(), 120)->origin, "disk");
  EXPECT_EQ(files_in(cache_folder()).size(), 1u);
}

TEST_F(CodeStoreTest, WithoutACacheFolderItGoesOnInMemory) {
  SPEEDLIGHT_NEEDS_NVRTC();
  std::ofstream(folder() + "/file") << "in the way";
  CodeStore store({}, folder() + "/file/cache");
  EXPECT_EQ(store.find(pack_config(), 120)->origin, "compiled");
  EXPECT_EQ(store.find(pack_config(), 120), store.find(pack_config(), 120));
  store.find(pack_config(), 90);
  EXPECT_EQ(warnings().size(), 1u);
  EXPECT_FALSE(store.facts().cache_usable);
}

TEST_F(CodeStoreTest, JitOffPrintsTheRecipe) {
  const ScopedEnvironment jit("SPEEDLIGHT_JIT", "off");
  const auto bytes = bundle_with_pack();
  CodeStore store(bytes, cache_folder());
  EXPECT_EQ(store.find(pack_config(), 120)->origin, "bundle");
  try {
    store.find(pack_config(), 90);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::no_compiler);
    EXPECT_NE(std::string(error.what()).find("\npack.e2 @ sm_90"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("SPEEDLIGHT_JIT=off"), std::string::npos) << error.what();
  }
  unsetenv("SPEEDLIGHT_JIT");
  if (have_nvrtc()) {  // a failure leaves no trace
    EXPECT_EQ(store.find(pack_config(), 90)->origin, "compiled");
  }
}

TEST_F(CodeStoreTest, UnknownJitSettingIsAnError) {
  const ScopedEnvironment jit("SPEEDLIGHT_JIT", "maybe");
  CodeStore store({}, cache_folder());
  EXPECT_THROW(store.find(pack_config(), 90), Error);
}

TEST_F(CodeStoreTest, HitsNeedNoNvrtc) {
  DiskCache(cache_folder()).save(identity_of(pack_config(), 90), made_up_code());
  const auto bytes = bundle_with_pack();
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a fresh process
  EXPECT_EXIT(
      {
        setenv("SPEEDLIGHT_NVRTC", "/no/such/libnvrtc.so", 1);
        CodeStore store(bytes, cache_folder());
        if (store.find(pack_config(), 120)->origin != "bundle") exit(1);
        if (store.find(pack_config(), 90)->origin != "disk") exit(2);
        if (store.facts().nvrtc.find("/no/such/libnvrtc.so") == std::string::npos) exit(3);
        try {
          store.find(pack_config(), 80);
        } catch (const Error& error) {
          const bool clear = std::string(error.what()).find("pack.e2 @ sm_80") != std::string::npos;
          exit(error.status() == Status::no_compiler && clear ? 0 : 4);
        }
        exit(5);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(CodeStoreTest, FactsSayWhatIsThere) {
  const auto bytes = bundle_with_pack();
  const StoreFacts facts = CodeStore(bytes, cache_folder()).facts();
  EXPECT_EQ(facts.shipped, (std::vector<std::pair<int, int>>{{120, 1}}));
  EXPECT_EQ(facts.bundle_producer, "NVRTC 12.8");
  EXPECT_EQ(facts.bundle_bytes, bytes.size());
  EXPECT_EQ(facts.source_digest.size(), 64u);
  EXPECT_TRUE(facts.cache_usable);
  EXPECT_EQ(facts.cache_folder, cache_folder());
}

}  // namespace
}  // namespace speedlight::store
