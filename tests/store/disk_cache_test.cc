#include "store/disk_cache.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/store/fixture.h"

namespace speedlight::store {
namespace {

Identity make_identity(const std::string& text = "speedlight 1\nconfig made up\n") { return {text, sha256(text)}; }

class DiskCacheTest : public StoreTest {};

TEST_F(DiskCacheTest, KeepsCodeInAPrivateFolder) {
  DiskCache cache(cache_folder());
  EXPECT_FALSE(cache.load(make_identity()));
  EXPECT_FALSE(std::filesystem::exists(cache_folder()));  // made at the first write only
  cache.save(make_identity(), made_up_code());
  const auto code = DiskCache(cache_folder()).load(make_identity());
  ASSERT_TRUE(code);
  expect_same(*code, made_up_code());
  EXPECT_EQ(code->origin, "disk");
  struct stat info {};
  ASSERT_EQ(stat(cache_folder().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(files_in(cache_folder()), std::vector{to_hex(make_identity().hash)});
  EXPECT_EQ(cache.problem(), "");
  EXPECT_TRUE(warnings().empty());
}

TEST_F(DiskCacheTest, DamagedFileIsAMissAndIsReplaced) {
  DiskCache cache(cache_folder());
  cache.save(make_identity(), made_up_code());
  const std::string path = cache_folder() + "/" + to_hex(make_identity().hash);
  std::filesystem::resize_file(path, 200);
  EXPECT_FALSE(cache.load(make_identity()));
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find(path), std::string::npos);
  std::ofstream(path, std::ios::trunc) << "not an entry";
  EXPECT_FALSE(cache.load(make_identity()));
  cache.save(make_identity(), made_up_code());
  EXPECT_TRUE(cache.load(make_identity()));
}

TEST_F(DiskCacheTest, FolderThatCannotBeMadeWarnsOnce) {
  std::ofstream(folder() + "/file") << "in the way";
  for (const std::string& bad : {folder() + "/file", folder() + "/file/cache", std::string()}) {
    DiskCache cache(bad);
    const std::size_t before = warnings().size();
    for (int i = 0; i < 3; ++i) {
      cache.save(make_identity(), made_up_code());
      EXPECT_FALSE(cache.load(make_identity()));
    }
    EXPECT_EQ(warnings().size(), before + 1) << bad;
    EXPECT_NE(cache.problem(), "");
  }
}

TEST_F(DiskCacheTest, FolderOthersCanWriteIsNotTrusted) {
  DiskCache cache(cache_folder());
  cache.save(make_identity(), made_up_code());
  chmod(cache_folder().c_str(), 0777);
  EXPECT_FALSE(cache.load(make_identity()));
  cache.save(make_identity(), made_up_code());
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("chmod 700"), std::string::npos);
}

constexpr uid_t nobody = 65534;

TEST_F(DiskCacheTest, FolderOfAnotherUserIsNotTrusted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  DiskCache cache(cache_folder());
  cache.save(make_identity(), made_up_code());
  ASSERT_EQ(chown(cache_folder().c_str(), nobody, nobody), 0);
  EXPECT_FALSE(cache.load(make_identity()));
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("another user"), std::string::npos);
}

// Root may write anywhere, so the child becomes nobody.
TEST_F(DiskCacheTest, ReadOnlyFolderStillServesAndWarnsOnce) {
  DiskCache(cache_folder()).save(make_identity(), made_up_code());
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder().c_str(), nobody, nobody), 0);
    ASSERT_EQ(chown(cache_folder().c_str(), nobody, nobody), 0);
    for (const auto& file : std::filesystem::directory_iterator(cache_folder())) ASSERT_EQ(chown(file.path().c_str(), nobody, nobody), 0);
  }
  chmod(cache_folder().c_str(), 0500);
  const int status = wait_for(start_child([&] {
    if (geteuid() == 0 && seteuid(nobody) != 0) return 1;
    DiskCache cache(cache_folder());
    if (!cache.load(make_identity())) return 2;
    for (int i = 0; i < 3; ++i) cache.save(make_identity("another\n"), made_up_code());
    if (cache.load(make_identity("another\n"))) return 3;
    if (cache.problem().empty()) return 4;
    return warnings().size() == 1 ? 0 : 5;
  }));
  EXPECT_EQ(status, 0);
  chmod(cache_folder().c_str(), 0700);
}

TEST_F(DiskCacheTest, FullDiskLeavesNothingBehind) {
  const int status = wait_for(start_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100, 100};  // bytes a file: a write beyond fails as on a full disk
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    DiskCache cache(cache_folder());
    for (int i = 0; i < 3; ++i) cache.save(make_identity(), made_up_code());
    if (cache.load(make_identity())) return 2;
    return warnings().size() == 1 ? 0 : 3;
  }));
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(files_in(cache_folder()).empty());
}

TEST_F(DiskCacheTest, ProcessesThatWriteOneKeyNeverShowAPart) {
  std::vector<pid_t> writers;
  for (u8 writer = 0; writer < 3; ++writer)
    writers.push_back(start_child([&, writer] {
      DiskCache cache(cache_folder());
      for (int i = 0; i < 30; ++i) cache.save(make_identity(), made_up_code(20'000 + 10'000 * writer, writer));
      return warnings().empty() ? 0 : 1;
    }));
  DiskCache cache(cache_folder());
  for (int i = 0; i < 300; ++i)
    if (const auto code = cache.load(make_identity())) expect_same(*code, made_up_code(code->cubin.size(), code->cubin[0]));
  for (const pid_t writer : writers) EXPECT_EQ(wait_for(writer), 0);
  EXPECT_TRUE(warnings().empty());  // a part would be reported as damaged
  EXPECT_TRUE(cache.load(make_identity()));
  EXPECT_EQ(files_in(cache_folder()).size(), 1u);
}

TEST_F(DiskCacheTest, FolderFollowsTheEnvironment) {
  const ScopedEnvironment home("HOME", "/home/someone");
  unsetenv("SPEEDLIGHT_CACHE_DIR");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(default_cache_folder(), "/home/someone/.cache/speedlight");
  const ScopedEnvironment caches("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(default_cache_folder(), "/caches/speedlight");
  const ScopedEnvironment own("SPEEDLIGHT_CACHE_DIR", "/own");
  EXPECT_EQ(default_cache_folder(), "/own");
}

}  // namespace
}  // namespace speedlight::store
