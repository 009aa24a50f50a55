// What the kernels' object files define for others to use. An inline function compiled for AVX-512 that the linker prefers over the baseline's
// copy would crash older processors, so in each variant there must be none but Eigen's, in that variant's namespace.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

namespace speedlight {
namespace {

TEST(CpuIsolation, VariantsShareNoInlineFunctions) {
  const std::string archive = SPEEDLIGHT_BUILD_DIR "/libspeedlight_core.a";
  if (!std::ifstream(archive)) GTEST_SKIP() << archive << " is not there";
  const std::unique_ptr<FILE, int (*)(FILE*)> listing(popen(("nm -C --defined-only " + archive + " 2>/dev/null").c_str(), "r"), pclose);
  ASSERT_TRUE(listing);
  std::string variant;  // of the object that the lines are about; empty: not one of the kernels
  int variants = 0;
  char line[8192];
  while (std::fgets(line, sizeof line, listing.get())) {
    const std::string text(line);
    if (text.find(".o:") != std::string::npos) {
      variant.clear();
      for (const char* name : {"baseline", "v3", "v4"})
        if (text.starts_with(std::string("kernels_") + name + ".")) variant = name, ++variants;
    }
    if (variant.empty() || text.size() < 20) continue;
    const char kind = text[17];
    if (kind != 'W' && kind != 'V' && kind != 'u') continue;
    const bool own = text.find("Eigen_" + variant + "::") != std::string::npos || text.find("DW.ref.") != std::string::npos;
    EXPECT_TRUE(own) << variant << ": " << text;
  }
  if (variants == 0) GTEST_SKIP() << "nm lists nothing";
  EXPECT_EQ(variants, 3);
}

}  // namespace
}  // namespace speedlight
