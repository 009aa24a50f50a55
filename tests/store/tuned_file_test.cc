#include "store/tuned_file.h"

#include <fstream>

#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

TunedRow row_of(double ms, int walk = 11) {
  TunedRow row;
  row.config = ForwardConfig{};
  row.target = 90, row.card = "NVIDIA H200", row.shape = {walk, 9, 11}, row.ms = ms;
  row.machine = "NVIDIA H200", row.date = "2026-01-31", row.commit = "0123abc";
  return row;
}

class TunedFile : public StoreTest {
 protected:
  TunedFile() { setenv("SPEEDLIGHT_TUNED", (folder() + "/config/tuned.txt").c_str(), 1); }
  ~TunedFile() override { unsetenv("SPEEDLIGHT_TUNED"); }
};

TEST_F(TunedFile, RowsReplaceThoseForTheSameProblems) {
  const std::string path = tuned_path();
  EXPECT_TRUE(read_tuned(path).rows.empty());
  write_tuned(path, {row_of(2), row_of(3, 12)});
  write_tuned(path, {row_of(1)});
  UserTable table = read_tuned(path);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].ms, 3);
  EXPECT_EQ(table.rows[1].ms, 1);
  write_tuned(path, {}, {row_of(9)});
  EXPECT_EQ(read_tuned(path).rows.size(), 1u);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(TunedFile, LinesThatAreNoRowsStayAndWarnOnce) {
  const std::string path = folder() + "/tuned.txt";
  std::ofstream(path) << "# my notes\nnonsense\nmore nonsense\n";
  EXPECT_TRUE(read_tuned(path).rows.empty());
  EXPECT_EQ(warnings().size(), 1u);
  write_tuned(path, {row_of(1)});
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(text.starts_with("# my notes\nnonsense\nmore nonsense\nfwd.")) << text;
}

TEST_F(TunedFile, TheEnvironmentSaysWhereItIs) {
  setenv("SPEEDLIGHT_TUNED", "off", 1);
  EXPECT_EQ(tuned_path(), "");
  EXPECT_TRUE(read_tuned(tuned_path()).rows.empty());
  unsetenv("SPEEDLIGHT_TUNED");
  setenv("XDG_CONFIG_HOME", "/somewhere", 1);
  EXPECT_EQ(tuned_path(), "/somewhere/speedlight/tuned.txt");
  unsetenv("XDG_CONFIG_HOME");
  EXPECT_TRUE(tuned_path().ends_with("/.config/speedlight/tuned.txt"));
}

TEST_F(TunedFile, AFileThatCannotBeWrittenIsAnError) {
  std::ofstream(folder() + "/file") << "x";
  EXPECT_THROW(write_tuned(folder() + "/file/tuned.txt", {row_of(1)}), Error);
}

}  // namespace
}  // namespace speedlight::store
