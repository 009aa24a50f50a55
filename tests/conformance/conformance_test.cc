// The emulator against recordings of GPUs (tests/conformance/vectors/*.bin) and, where there is one, against the GPU of this machine.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "conformance/compare.h"
#include "conformance/run.h"
#include "conformance/vectors.h"

namespace speedlight::conformance {
namespace {

const std::string folder = SPEEDLIGHT_SOURCE_DIR "/tests/conformance";

std::vector<std::string> recordings() {
  std::vector<std::string> files;
  std::error_code none_yet;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/vectors", none_yet))
    if (entry.path().extension() == ".bin") files.push_back(entry.path().string());
  return files;
}

const Group& group_named(const std::vector<Group>& groups, const std::string& name) {
  for (const Group& g : groups)
    if (g.name == name) return g;
  throw std::runtime_error("no group " + name);
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Conformance, EmulatorMatchesRecordedVectors) {
  if (recordings().empty()) GTEST_SKIP() << "no recorded vectors in " << folder << "/vectors";
  const std::vector<Group> groups = make_groups(recorded_seed);
  for (const std::string& path : recordings()) {
    SCOPED_TRACE(path);
    const Vectors vectors = read_vectors(path);
    ASSERT_EQ(vectors.groups.size(), groups.size()) << "record again: docs/emulator.md, Conformance";
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const RecordedGroup& recorded = vectors.groups[i];
      ASSERT_EQ(recorded.name, groups[i].name);
      ASSERT_EQ(recorded.input_digest, digest(groups[i])) << groups[i].name << " was recorded for another input: record again";
      const Comparison c = compare(groups[i], recorded.output, run_emulated(groups[i], {}));
      EXPECT_EQ(c.different, 0) << groups[i].name << " on " << vectors.device << "\n" << c.report;
    }
  }
}

TEST(Conformance, EmulatorMatchesThisGpu) {
  std::string why;
  if (!has_gpu(&why)) GTEST_SKIP() << why;
  const Gpu gpu;
  for (const u64 seed : {recorded_seed, recorded_seed + 1, recorded_seed + 2})
    for (const Group& group : make_groups(seed)) {
      const Comparison c = compare(group, gpu.run(group), run_emulated(group, {}));
      EXPECT_EQ(c.different, 0) << group.name << " on " << gpu.name() << "\n" << c.report;
    }
}

// The order in which things happen changes no result, and no group asks the emulator for what it forbids.
TEST(Conformance, AdversariesAgree) {
  for (const u64 seed : {1, 2, 3})
    for (const Group& group : make_groups(seed)) {
      const std::vector<u8> plain = run_emulated(group, {});
      EXPECT_EQ(plain, run_emulated(group, {.late = true, .random = true, .seed = seed})) << group.name;
      EXPECT_EQ(plain, run_emulated(group, {.late = true, .random = false, .seed = seed})) << group.name;
    }
}

TEST(Conformance, ComparisonCanFail) {
  for (const Group& group : make_groups(recorded_seed)) {
    const std::vector<u8> good = run_emulated(group, {});
    EXPECT_EQ(compare(group, good, good).different, 0) << group.name;
    int caught = 0;
    for (int part = 0; part < 8; ++part) {
      std::vector<u8> bad = good;
      const std::size_t at = (bad.size() / 8 * part + 4) / 8 * 8;  // of a float or double: not only its last bits
      bad[at + 1] ^= 0x10, bad[at + 2] ^= 0x04, bad[at + 6] ^= 0x21;
      caught += compare(group, bad, good).different > 0;
    }
    EXPECT_GE(caught, 4) << group.name;
  }
}

TEST(Conformance, Bounds) {
  const std::vector<Group> groups = make_groups(recorded_seed);
  const auto moved = [&](const std::string& name, u32 ulps) {
    const Group& group = group_named(groups, name);
    std::vector<u8> output = run_emulated(group, {});
    for (std::size_t i = 0; i < output.size(); i += 4) {
      u32 word;
      std::memcpy(&word, &output[i], 4);
      if ((word & 0x7f800000) != 0 && (word & 0x7fffffff) < 0x7f7ffff0) word += ulps;
      std::memcpy(&output[i], &word, 4);
    }
    return compare(group, output, run_emulated(group, {})).different;
  };
  EXPECT_EQ(moved("exp2", 2), 0);
  EXPECT_GT(moved("exp2", 3), 0);
  EXPECT_EQ(moved("reciprocal", 1), 0);
  EXPECT_GT(moved("reciprocal", 2), 0);
  EXPECT_EQ(moved("multiply", 0), 0);
  EXPECT_GT(moved("multiply", 1), 0);
  EXPECT_EQ(moved("mma_bf16", 1), 0);
  EXPECT_GT(moved("mma_bf16", 200), 0);
  EXPECT_GT(moved("mma_fp16", 200), 0);
}

TEST(Conformance, EveryPtxFunctionIsCalled) {
  const std::string kernels = text_of(folder + "/kernels.h");
  const std::regex definition(R"((?:inline|constexpr) [\w:]+ (\w+)\()");
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPEEDLIGHT_SOURCE_DIR "/src/device/ptx")) {
    const std::string text = text_of(entry.path());
    for (std::sregex_iterator i(text.begin(), text.end(), definition), end; i != end; ++i, ++found)
      EXPECT_TRUE(std::regex_search(kernels, std::regex("ptx::" + (*i)[1].str() + "[<(]"))) << entry.path() << ": " << (*i)[1];
  }
  EXPECT_GT(found, 50);
}

TEST(Conformance, VectorsRoundTrip) {
  const std::string path = testing::TempDir() + "conformance_vectors.bin";
  write({"a card", {{"one", 7, {1, 2, 3}}, {"two", 8, {}}}}, path);
  const Vectors back = read_vectors(path);
  ASSERT_EQ(back.groups.size(), 2u);
  EXPECT_EQ(back.device, "a card");
  EXPECT_EQ(back.groups[0].output, (std::vector<u8>{1, 2, 3}));
  EXPECT_EQ(back.groups[1].input_digest, 8u);
  std::filesystem::resize_file(path, 50);
  EXPECT_THROW(read_vectors(path), Error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace speedlight::conformance
