// Files and names: whole reads and writes, errors that say what failed, the lock that names its holder, and
// pages in the cache.

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "core/dir_lock.h"
#include "core/fs_ops.h"
#include "core/io.h"
#include "core/platform.h"
#include "core/residency.h"
#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

TEST("more vectors than one call takes, empty ones among them") {
  ScratchDir dir;
  const Fd fd(open(dir.At("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  Memory expected(10, 0);
  std::vector<Memory> parts;
  for (std::uint32_t i = 0; i < 5000; i++) parts.push_back(Payload(i % 7, i));
  std::vector<iovec> vectors;
  for (Memory& part : parts) {
    vectors.push_back({part.data(), part.size()});
    Append(&expected, part);
  }
  EXPECT_EQ(WriteVectorsAt(fd.get(), vectors.data(), vectors.size(), 10), 0);
  EXPECT_TRUE(ReadWhole(dir.At("f")) == expected);
}

TEST("a write that the system cuts short goes on, and fails where it must") {
  ScratchDir dir;
  const Fd fd(open(dir.At("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  // A limit of the file size cuts the first call short and refuses the second.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit{10'000, 10'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Memory first = Payload(6000, 1);
    Memory second = Payload(6000, 2);
    iovec parts[] = {{first.data(), first.size()}, {second.data(), second.size()}};
    _exit(WriteVectorsAt(fd.get(), parts, 2, 0) == EFBIG ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  Memory expected = Payload(6000, 1);
  Append(&expected, Payload(6000, 2));
  expected.resize(10'000);
  EXPECT_TRUE(ReadWhole(dir.At("f")) == expected);
}

TEST("zeros over a range that is no multiple of anything") {
  ScratchDir dir;
  WriteWhole(dir.At("f"), Payload(200'000, 1));
  const Fd fd(open(dir.At("f").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(WriteZeros(fd.get(), 17, 150'001), 0);
  Memory expected = Payload(200'000, 1);
  std::fill(expected.begin() + 17, expected.begin() + 150'001, std::uint8_t{0});
  EXPECT_TRUE(ReadWhole(dir.At("f")) == expected);
}

TEST("a file that is replaced is the old one or the new one, and no temporary one stays") {
  ScratchDir dir;
  const Memory first = Payload(100, 1);
  const Memory second = Payload(50, 2);
  EXPECT_EQ(ReplaceFile(dir.At("f"), first.data(), first.size()).code, 0);
  EXPECT_EQ(ReplaceFile(dir.At("f"), second.data(), second.size()).code, 0);
  EXPECT_TRUE(ReadWhole(dir.At("f")) == second);
  EXPECT_EQ(SizeOf(dir.At("f.tmp")), -1);
}

TEST("failures say which call on which path") {
  ScratchDir dir;
  SysError error;
  EXPECT_TRUE(OpenFile(dir.At("missing"), false, false, &error) == nullptr);
  EXPECT_EQ(error.code, ENOENT);
  EXPECT_EQ(error.path, dir.At("missing"));
  EXPECT_EQ(std::string(error.syscall), "open");
  EXPECT_EQ(std::string(RenameFile(dir.At("missing"), dir.At("x")).syscall), "rename");
  EXPECT_EQ(UnlinkFile(dir.At("missing")).code, ENOENT);
  EXPECT_EQ(SyncDirectory(dir.At("missing")).code, ENOENT);
  EXPECT_EQ(ReplaceFile(dir.At("missing/f"), nullptr, 0).code, ENOENT);
  std::uint64_t bytes = 0;
  EXPECT_EQ(FreeBytes(dir.At("missing"), &bytes).code, ENOENT);
  EXPECT_EQ(FreeBytes(dir.path(), &bytes).code, 0);
  EXPECT_GT(bytes, 0u);
  EXPECT_GT(OpenFilesLimit(), 0u);
}

TEST("a lock is held once, names its holder, and goes with the process that held it") {
  ScratchDir dir;
  {
    const DirLockResult lock = TakeDirLock(dir.At(".lock"));
    EXPECT_TRUE(lock.fd.valid());
    const DirLockResult second = TakeDirLock(dir.At(".lock"));
    EXPECT_FALSE(second.fd.valid());
    EXPECT_TRUE(second.held);
    EXPECT_EQ(second.holder, getpid());
  }
  EXPECT_TRUE(TakeDirLock(dir.At(".lock")).fd.valid());

  int ready[2];
  (void)!pipe(ready);
  const pid_t child = fork();
  if (child == 0) {
    const DirLockResult lock = TakeDirLock(dir.At(".lock"));
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte;
  (void)!read(ready[0], &byte, 1);
  const DirLockResult blocked = TakeDirLock(dir.At(".lock"));
  EXPECT_TRUE(blocked.held);
  EXPECT_EQ(blocked.holder, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(TakeDirLock(dir.At(".lock")).fd.valid());
  close(ready[0]);
  close(ready[1]);
}

TEST("a lock file without a pid, and a lock that cannot be taken at all") {
  ScratchDir dir;
  WriteWhole(dir.At(".lock"), {'x', 'y'});
  const Fd fd(open(dir.At(".lock").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(TakeDirLock(dir.At(".lock")).fd.valid());
  const DirLockResult nowhere = TakeDirLock(dir.At("missing/.lock"));
  EXPECT_EQ(nowhere.error.code, ENOENT);
}

TEST("pages are known to be in the cache, or not") {
  ScratchDir dir;
  WriteWhole(dir.At("f"), Payload(100'000, 1));
  const Fd fd(open(dir.At("f").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_TRUE(PagesCached(fd.get(), 0, 100'000));
  EXPECT_TRUE(PagesCached(fd.get(), 99'999, 1));
  EXPECT_TRUE(PagesCached(fd.get(), 50, 0));
  fsync(fd.get());
  EXPECT_EQ(platform::DropCache(fd.get(), 0), 0);
  EXPECT_FALSE(PagesCached(fd.get(), 0, 100'000));
  EXPECT_FALSE(PagesCached(fd.get(), 50'000, 1));
  char byte;
  EXPECT_EQ(pread(fd.get(), &byte, 1, 50'000), 1);
  EXPECT_TRUE(PagesCached(fd.get(), 50'000, 1));
  EXPECT_FALSE(PagesCached(fd.get(), 0, 100'000));
}

TEST("where a file system lives") {
  ScratchDir dir;
  EXPECT_EQ(platform::IsMemoryFileSystem(dir.path().c_str()), 0);
#if defined(__linux__)
  if (access("/dev/shm", F_OK) == 0) EXPECT_EQ(platform::IsMemoryFileSystem("/dev/shm"), 1);
#endif
  EXPECT_EQ(platform::IsMemoryFileSystem(dir.At("missing").c_str()), -1);
}

}  // namespace
}  // namespace millrace::test
