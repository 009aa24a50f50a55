#include "store/sources.h"

#include "store/digest.h"
#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

TEST(Sources, EmbeddedTableIsTheFolder) {
  const DeviceSources embedded{embedded_sources()};
  const DeviceSources disk{std::string(SPEEDLIGHT_SOURCE_DIR) + "/src/device"};
  ASSERT_EQ(embedded.files().size(), disk.files().size());
  for (std::size_t i = 0; i < disk.files().size(); ++i) {
    EXPECT_EQ(embedded.files()[i].path, disk.files()[i].path);
    EXPECT_TRUE(embedded.files()[i].text == disk.files()[i].text) << disk.files()[i].path << " was edited after the build";
    EXPECT_EQ(embedded.files()[i].digest, to_hex(sha256(embedded.files()[i].text)));
  }
  EXPECT_EQ(embedded.digest(), disk.digest());
}

TEST(Sources, ReachesWhatIsIncluded) {
  const EmbeddedSource table[] = {{"a.h", "#pragma once\n#include \"b/c.h\"\n#include \"b/d.h\"\n", "1"},
                                  {"b/c.h", "#include \"a.h\"\n", "2"},
                                  {"b/d.h", "// nothing\n", "3"},
                                  {"e.h", "#include \"a.h\"\n", "4"}};
  const DeviceSources sources{table};
  std::string paths;
  for (const SourceFile* file : sources.reached_from("#include \"a.h\"\n#include \"absent.h\"\n")) paths += file->path + " ";
  EXPECT_EQ(paths, "a.h b/c.h b/d.h ");
  EXPECT_TRUE(sources.reached_from("int x;\n").empty());
}

TEST(Sources, MissingFolderIsAClearError) {
  try {
    DeviceSources{std::string("/no/such/folder")};
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("/no/such/folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace speedlight::store
