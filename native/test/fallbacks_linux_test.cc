// What happens on kernels and file systems that lack a call: each case is a child process in which the kernel
// refuses it.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "core/listener.h"
#include "core/platform.h"
#include "core/populator.h"
#include "core/residency.h"
#include "core/stored_walk.h"
#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

constexpr long kCachestat = 451;

/** From here on this process gets `error` from the call. */
bool Refuse(long call, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kPassed = 33;
constexpr int kCannotRefuse = 34;

/** `body` says whether all was as it should be. */
template <typename Body>
void InChildWithout(std::initializer_list<std::pair<long, int>> refused, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [call, error] : refused) {
      if (!Refuse(call, error)) _exit(kCannotRefuse);
    }
    _exit(body() ? kPassed : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) != kCannotRefuse) EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

/** What this process has handed to write calls so far, in bytes; −1 where the kernel does not count. */
std::int64_t BytesWrittenBySelf() {
  const Memory text = ReadWhole("/proc/self/io");
  const std::string io(text.begin(), text.end());
  const std::size_t at = io.find("wchar: ");
  return at == std::string::npos ? -1 : std::strtoll(io.c_str() + at + 7, nullptr, 10);
}

bool Add(SegmentWriter* writer, std::uint32_t bytes, std::uint32_t seed) {
  WriteScratch scratch;
  const Memory wire = Wire({bytes}, seed);
  writer->Stage(
      {wire.data(), static_cast<std::uint32_t>(wire.size()), 1, bytes + writer->format().header_bytes});
  return writer->Commit(&scratch) == 0;
}

TEST("without cachestat the first and the last page are asked for by preadv2") {
  ScratchDir dir;
  WriteWhole(dir.At("f"), Payload(100'000, 1));
  const Fd fd(open(dir.At("f").c_str(), O_RDWR | O_CLOEXEC));
  InChildWithout({{kCachestat, ENOSYS}}, [&] {
    if (!PagesCached(fd.get(), 0, 100'000)) return false;
    fsync(fd.get());
    if (platform::DropCache(fd.get(), 0) != 0 || PagesCached(fd.get(), 0, 100'000)) return false;
    char byte;
    return pread(fd.get(), &byte, 1, 0) == 1 && PagesCached(fd.get(), 0, 1);
  });
}

TEST("without both nothing is called cached, and a walk that may not wait says so") {
  ScratchDir dir;
  WriteWhole(dir.At("f"), Stored(RecordFormatId::kPlain, {10, 20}));
  const Fd fd(open(dir.At("f").c_str(), O_RDWR | O_CLOEXEC));
  InChildWithout({{kCachestat, ENOSYS}, {SYS_preadv2, EOPNOTSUPP}}, [&] {
    const RecordFormat& format = Format(RecordFormatId::kPlain);
    return !PagesCached(fd.get(), 0, 10) &&
           WalkStored(fd.get(), format, 0, 1, 38, false).outcome == WalkOutcome::kNotCached &&
           WalkStored(fd.get(), format, 0, 2, 38, true).position == 38;
  });
}

TEST("a file system in memory that does not know preadv2's flag is walked all the same") {
  const std::string path = "/dev/shm/millrace-walk-" + std::to_string(getpid());
  WriteWhole(path, Stored(RecordFormatId::kPlain, {10, 20}));
  const Fd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd.valid() && platform::IsMemoryFileSystem("/dev/shm") == 1 && PagesCached(fd.get(), 0, 38)) {
    const WalkResult result = WalkStored(fd.get(), Format(RecordFormatId::kPlain), 0, 2, 38, false);
    EXPECT_EQ(result.outcome, WalkOutcome::kFound);
    EXPECT_EQ(result.position, 38);
  }
  unlink(path.c_str());
}

TEST(
    "where blocks cannot be reserved, a mapped segment is filled with zeros ahead and never over its "
    "records") {
  ScratchDir dir;
  InChildWithout({{SYS_fallocate, EOPNOTSUPP}}, [&] {
    SegmentWriterConfig config = Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kCrc32c);
    config.reserve = 256 * 1024 + 17;
    SysError error;
    auto writer = SegmentWriter::Create(config, &error);
    struct stat stat{};
    if (writer == nullptr || writer->reserved() != config.reserve || fstat(writer->file()->fd(), &stat) != 0)
      return false;
    if (stat.st_blocks * 512 < 256 * 1024 || stat.st_size != config.capacity) return false;
    Memory expected = Stored(RecordFormatId::kCrc32c, {1000}, 1);
    Append(&expected, Stored(RecordFormatId::kCrc32c, {5000}, 2));
    if (!Add(writer.get(), 1000, 1) || writer->Reserve(config.capacity).code != 0 ||
        !Add(writer.get(), 5000, 2)) {
      return false;
    }
    const std::uint32_t end = writer->end();
    writer.reset();
    // Opened again: the reservation begins behind the records.
    writer = SegmentWriter::Open(config, end, &error);
    if (writer == nullptr || writer->Finish(true).code != 0) return false;
    return ReadWhole(dir.At("a")) == expected;
  });
}

TEST("where blocks cannot be reserved, filling ahead writes each zero once and never over the records") {
  ScratchDir dir;
  InChildWithout({{SYS_fallocate, EOPNOTSUPP}}, [&] {
    SegmentWriterConfig config = Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kCrc32c, 8 << 20);
    config.reserve = 5000;
    SysError error;
    const auto writer = SegmentWriter::Create(config, &error);
    if (writer == nullptr || !Add(writer.get(), 1000, 1)) return false;
    const std::int64_t before = BytesWrittenBySelf();
    if (writer->ReserveFilled(config.capacity).code != 0 || writer->reserved() != config.capacity)
      return false;
    const std::int64_t zeros = BytesWrittenBySelf() - before;
    if (before >= 0 && zeros != config.capacity - 5000) return false;
    return writer->Finish(true).code == 0 &&
           ReadWhole(dir.At("a")) == Stored(RecordFormatId::kCrc32c, {1000}, 1);
  });
}

TEST("where blocks cannot be reserved, the file of the other path stays as long as its records") {
  ScratchDir dir;
  InChildWithout({{SYS_fallocate, EOPNOTSUPP}}, [&] {
    SysError error;
    const auto writer =
        SegmentWriter::Create(Config(dir.At("a"), SegmentMode::kFileChannel, RecordFormatId::kPlain), &error);
    if (writer == nullptr || writer->reserved() != writer->capacity() || SizeOf(dir.At("a")) != 0)
      return false;
    return Add(writer.get(), 100, 1) && SizeOf(dir.At("a")) == 104;
  });
}

TEST("a full disk refuses the segment, and nothing of it stays") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    InChildWithout({{SYS_fallocate, ENOSPC}}, [&] {
      SysError error;
      const auto writer = SegmentWriter::Create(Config(dir.At("a"), mode, RecordFormatId::kPlain), &error);
      return writer == nullptr && error.code == ENOSPC && error.path == dir.At("a") &&
             SizeOf(dir.At("a")) == -1;
    });
  }
}

TEST("a reservation that fails leaves the writer as it was") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    SegmentWriterConfig config = Config(dir.At("a"), mode, RecordFormatId::kPlain);
    config.reserve = 8192;
    SysError created;
    const auto writer = SegmentWriter::Create(config, &created);
    InChildWithout({{SYS_fallocate, ENOSPC}}, [&] {
      return writer->Reserve(config.capacity).code == ENOSPC && writer->reserved() == 8192 &&
             writer->broken() == 0 && Add(writer.get(), 100, 1) && writer->Force(104).code == 0;
    });
  }
}

TEST("filling ahead that finds the disk full leaves the writer as it was, and others go on reserving") {
  ScratchDir dir;
  SegmentWriterConfig config = Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain, 8 << 20);
  config.reserve = 8192;
  SysError created;
  const auto writer = SegmentWriter::Create(config, &created);
  const auto goes_on = [&] {
    return writer->reserved() == 8192 && writer->broken() == 0 && Add(writer.get(), 100, 1) &&
           writer->Force(104).code == 0;
  };
  InChildWithout({{SYS_fallocate, ENOSPC}},
                 [&] { return writer->ReserveFilled(config.capacity).code == ENOSPC && goes_on(); });
  // The blocks are there and the zeros are refused all the same, as a file system that copies on write may.
  InChildWithout({{SYS_pwritev, ENOSPC}}, [&] {
    return writer->ReserveFilled(config.capacity).code == ENOSPC && goes_on() &&
           writer->Reserve(4 << 20).code == 0 && writer->reserved() == 4 << 20 &&
           writer->Finish(true).code == 0 && SizeOf(dir.At("a")) == 104;
  });
}

TEST("a socket that may not listen is an error, and no file of its name stays") {
  ScratchDir dir;
  InChildWithout({{SYS_listen, EADDRINUSE}}, [&] {
    SysError error;
    {
      Listener listener;
      error = listener.OpenUnix(dir.At("s"));
    }
    return error.code == EADDRINUSE && std::string(error.syscall) == "listen" && error.path == dir.At("s") &&
           SizeOf(dir.At("s")) == -1;
  });
}

TEST("a socket that would block is not listened on") {
  ScratchDir dir;
  InChildWithout({{SYS_fcntl, EPERM}}, [&] {
    return Listener().OpenUnix(dir.At("s")).code == EPERM &&
           Listener().OpenTcp("127.0.0.1", 0).code == EPERM && SizeOf(dir.At("s")) == -1;
  });
}

TEST("a segment that is there opens on a full disk, with nothing reserved, and goes on when there is room") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    const SegmentWriterConfig config = Config(dir.At("a"), mode, RecordFormatId::kPlain);
    WriteWhole(dir.At("a"), Stored(RecordFormatId::kPlain, {100}));
    InChildWithout({{SYS_fallocate, ENOSPC}}, [&] {
      SysError error;
      const auto writer = SegmentWriter::Open(config, 104, &error);
      return writer != nullptr && error.code == 0 && writer->reserved() == 104 &&
             writer->Force(104).code == 0 && writer->Reserve(4096).code == ENOSPC &&
             writer->Finish(true).code == 0 && SizeOf(dir.At("a")) == 104;
    });
  }
}

TEST("a mapped segment that cannot be extended is not opened, on a full disk either") {
  ScratchDir dir;
  WriteWhole(dir.At("a"), Stored(RecordFormatId::kPlain, {100}));
  InChildWithout({{SYS_ftruncate, ENOSPC}}, [&] {
    SysError error;
    const auto writer =
        SegmentWriter::Open(Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain), 104, &error);
    return writer == nullptr && error.code == ENOSPC;
  });
}

TEST("a kernel that cannot populate is not asked again, and the writer takes its faults itself") {
  ScratchDir dir;
  InChildWithout({{SYS_madvise, EINVAL}}, [&] {
    SegmentWriterConfig config = Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain);
    config.populator = std::make_shared<Populator>();
    SysError error;
    const auto writer = SegmentWriter::Create(config, &error);
    writer->Populate(config.capacity / 2);
    usleep(20'000);
    writer->Populate(config.capacity);
    const bool added = Add(writer.get(), 500'000, 1);
    return added && writer->Finish(true).code == 0 && SizeOf(dir.At("a")) == 500'004;
  });
}

}  // namespace
}  // namespace millrace::test
