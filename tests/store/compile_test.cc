#include <algorithm>

#include "store/identity.h"
#include "store/ptxas_log.h"
#include "store/recipe.h"
#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

TEST(PtxasLog, ReadsWhatIsThere) {
  const PtxasFacts facts = parse_ptxas_log(
      "ptxas info    : 12 bytes gmem\nptxas info    : Compiling entry function 'k' for 'sm_120'\nptxas info    : Function properties for "
      "k\n"
      "    16 bytes stack frame, 8 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 900 bytes cmem[0]\n");
  EXPECT_EQ(facts.registers, 255);
  EXPECT_EQ(facts.spill_stores, 8);
  EXPECT_EQ(facts.spill_loads, 24);
  EXPECT_EQ(facts.static_shared, 1024);
  EXPECT_EQ(parse_ptxas_log("").registers, 0);
}

// A cubin's ELF flags name the target: in the second byte under OS/ABI 0x41 (12.8 for sm_120), in the first one before (see docs/store.md).
int target_of(const std::vector<u8>& cubin) { return cubin[7] == 0x41 ? cubin[49] : cubin[48]; }

TEST(Compile, MakesCodeForEveryShippedTarget) {
  SPEEDLIGHT_NEEDS_NVRTC();
  for (const int target : {80, 86, 90, 120}) {
    const Code code = compile(pack_config(), target);
    ASSERT_GT(code.cubin.size(), 64u);
    const std::string text(code.cubin.begin(), code.cubin.end());
    EXPECT_TRUE(
        text.starts_with("\x7f"
                         "ELF"));
    EXPECT_EQ(code.cubin[18] | code.cubin[19] << 8, 190);  // the machine: CUDA
    EXPECT_EQ(target_of(code.cubin), target);
    EXPECT_NE(text.find(kernel_symbol(pack_config())), std::string::npos);
    EXPECT_GT(code.registers, 0);
    EXPECT_EQ(code.spill_bytes, 0);
    EXPECT_GT(code.compile_ms, 0);
    EXPECT_EQ(code.origin, "compiled");
    EXPECT_TRUE(code.producer.starts_with("NVRTC ")) << code.producer;
  }
}

// A text for the driver: all of it before the one '\0' at its end, of the architecture asked for, and with the kernel in it.
TEST(Compile, MakesPtx) {
  SPEEDLIGHT_NEEDS_NVRTC();
  const Code code = compile(pack_config(), ptx_target);
  EXPECT_TRUE(code.is_ptx());
  EXPECT_FALSE(compile(pack_config(), 80).is_ptx());
  const std::string text(code.cubin.begin(), code.cubin.end());
  EXPECT_EQ(text.find('\0'), text.size() - 1);
  EXPECT_NE(text.find("\n.target sm_80\n"), std::string::npos);
  EXPECT_NE(text.find(".entry " + kernel_symbol(pack_config())), std::string::npos);
  EXPECT_EQ(code.registers, 0);
}

TEST(Compile, UnknownTargetIsAClearError) {
  SPEEDLIGHT_NEEDS_NVRTC();
  try {
    compile(pack_config(), 999);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::no_compiler);
    EXPECT_NE(std::string(error.what()).find("pack.e2 @ sm_999"), std::string::npos) << error.what();
  }
}

// Instructions that the target lacks: the compiler's words reach the caller.
TEST(Compile, RejectedSourceShowsTheLog) {
  SPEEDLIGHT_NEEDS_NVRTC();
  const BackwardConfig config{{.head_dim = 64, .value_dim = 64}, {.rows = 64, .add = VectorAdd::v4}};
  ASSERT_TRUE(config.valid());
  try {
    compile(config, 80);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::compile_failed);
    EXPECT_NE(std::string(error.what()).find("sm_90"), std::string::npos) << error.what();
  }
}

TEST(Identity, SeparatesWhatDiffers) {
  std::vector<std::string> texts;
  for (const KernelConfig& config : {KernelConfig(PackConfig{2}), KernelConfig(PackConfig{4})})
    for (const int target : {80, 90, ptx_target}) texts.push_back(identity_of(config, target).text);
  for (const char* level : {"lineinfo", "full"}) {
    const ScopedEnvironment debug("SPEEDLIGHT_DEBUG", level);
    texts.push_back(identity_of(pack_config(), 120).text);
  }
  std::ranges::sort(texts);
  EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
  EXPECT_EQ(identity_of(pack_config(), 120).text, identity_of(pack_config(), 120).text);
  EXPECT_EQ(identity_of(pack_config(), 120).hash, sha256(identity_of(pack_config(), 120).text));
}

TEST(Identity, UnknownDebugLevelIsAnError) {
  const ScopedEnvironment debug("SPEEDLIGHT_DEBUG", "yes");
  EXPECT_THROW(identity_of(pack_config(), 120), Error);
}

}  // namespace
}  // namespace speedlight::store
