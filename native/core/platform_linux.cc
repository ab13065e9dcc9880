// Linux. Calls that newer kernels have and the headers here may not are made by number, and fall back when
// the kernel answers that it does not know them.

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "core/page.h"
#include "core/platform.h"
#include "core/residency.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008  // Linux 4.14
#endif
#ifndef RAMFS_MAGIC
#define RAMFS_MAGIC 0x858458f6
#endif

namespace millrace {
namespace {

constexpr long kCachestat = 451;  // Linux 6.5; the same number on every architecture.

struct CachestatRange {
  std::uint64_t offset;
  std::uint64_t length;
};
struct Cachestat {
  std::uint64_t cached;
  std::uint64_t dirty;
  std::uint64_t writeback;
  std::uint64_t evicted;
  std::uint64_t recently_evicted;
};

std::atomic<bool> cachestat_missing{false};

enum class Known { kCached, kNotCached, kUnknown };

Known AskCachestat(int fd, std::uint64_t from, std::uint64_t bytes) {
  if (cachestat_missing.load(std::memory_order_relaxed)) return Known::kUnknown;
  CachestatRange range{from, bytes};
  Cachestat stat{};
  if (::syscall(kCachestat, fd, &range, &stat, 0u) == 0) {
    const std::uint64_t pages = (from + bytes - 1) / PageBytes() - from / PageBytes() + 1;
    return stat.cached >= pages ? Known::kCached : Known::kNotCached;
  }
  // Other errors say something about this file only: EPERM that it is somebody else's, EOPNOTSUPP that it
  // lies on hugetlbfs.
  if (errno == ENOSYS) cachestat_missing.store(true, std::memory_order_relaxed);
  return Known::kUnknown;
}

/** 1: it was read. 0: the file ends before it, so there is nothing to wait for. */
ssize_t ReadByteCached(int fd, off_t position) {
  char byte;
  return platform::ReadCached(fd, &byte, 1, position);
}

}  // namespace

bool PagesCached(int fd, off_t position, std::size_t bytes, bool* begins) {
  if (begins != nullptr) *begins = false;
  if (bytes == 0) return true;
  const auto from = static_cast<std::uint64_t>(position);
  const std::uint64_t pages = (from + bytes - 1) / PageBytes() - from / PageBytes() + 1;
  // A read of one byte that must not wait is the truth about its page, and two pages have no others. Of more,
  // cachestat tells what is missing; but it counts pages whose read has only been asked for, too, and a
  // sendfile would wait for those: 350 ms on a disk of 50 MB/s behind a read-ahead of 8 MiB. Read-ahead goes
  // forward, so the last page says most.
  if (pages > 2 && AskCachestat(fd, from, bytes) == Known::kNotCached) return false;
  const ssize_t last = ReadByteCached(fd, position + static_cast<off_t>(bytes) - 1);
  if (last < 0) return false;
  const ssize_t first = pages == 1 ? last : ReadByteCached(fd, position);
  if (begins != nullptr) *begins = first == 1 && last == 1;
  return first >= 0;
}

namespace platform {

#if defined(__x86_64__)
const char* Name() { return "linux-x64"; }
#elif defined(__aarch64__)
const char* Name() { return "linux-arm64"; }
#else
const char* Name() { return "linux"; }
#endif

// A third of what others get; zero stands for the calling thread. Nobody may take it back, so it is a thread
// and not a job that gives way.
void GiveWay() { (void)::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 5); }

int Open(const char* path, int flags) {
  const int fd = ::open(path, flags | O_CLOEXEC | O_NOATIME, 0644);
  // Somebody else's file.
  return fd < 0 && errno == EPERM ? ::open(path, flags | O_CLOEXEC, 0644) : fd;
}

int ForceFile(int fd) { return ::fsync(fd); }
int ForceFileData(int fd) { return ::fdatasync(fd); }

int ForceMapped(int, void* address, std::size_t bytes) { return ::msync(address, bytes, MS_SYNC); }

int TryJournal(int fd) {
  struct statfs stat;
  // XFS tells every barrier.
  if (::fstatfs(fd, &stat) != 0 || stat.f_type != EXT4_SUPER_MAGIC) return 0;
  // It finds nothing to remove, and looks for it inside a transaction.
  return ::fremovexattr(fd, "user.millrace.none") != 0 && (errno == EROFS || errno == EIO) ? errno : 0;
}

ReserveResult ReserveBlocks(int fd, off_t from, off_t to) {
  for (;;) {
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, from, to - from) == 0) return ReserveResult::kReserved;
    if (errno == EINTR) continue;
    return errno == EOPNOTSUPP || errno == ENOSYS ? ReserveResult::kUnsupported : ReserveResult::kFailed;
  }
}

PopulateResult PopulateForWriting(void* address, std::size_t bytes) {
  for (;;) {
    if (::madvise(address, bytes, MADV_POPULATE_WRITE) == 0) return PopulateResult::kPopulated;
    if (errno == EINTR) continue;
    return errno == EINVAL ? PopulateResult::kUnsupported : PopulateResult::kFailed;
  }
}

void FaultAlone(void* address, std::size_t bytes) { (void)::madvise(address, bytes, MADV_RANDOM); }

// Through an open file of its own: each tells of a page that could not be written once, whoever asks first.
// On the writer's the next barrier would say 0 over records that are lost.
bool WriteOut(int fd, off_t position, std::size_t bytes) {
  char path[32];
  (void)std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const int own = Open(path, O_RDONLY);
  if (own < 0) return false;
  const int result =
      ::sync_file_range(own, position, static_cast<off_t>(bytes),
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  (void)::close(own);
  return result == 0;
}

void HandOverMapping(void*, std::size_t) {}

ssize_t ReadCached(int fd, void* into, std::size_t bytes, off_t position) {
  iovec part{into, bytes};
  for (;;) {
    const ssize_t n = ::preadv2(fd, &part, 1, position, RWF_NOWAIT);
    if (n >= 0 || (errno != EINTR && errno != EOPNOTSUPP)) return n;
    if (errno == EINTR) continue;
    // tmpfs does not know the flag, but can say what it holds.
    if (AskCachestat(fd, static_cast<std::uint64_t>(position), bytes) != Known::kCached) {
      errno = EAGAIN;
      return -1;
    }
    return ::pread(fd, into, bytes, position);
  }
}

void ReadAhead(int fd, off_t position, std::size_t bytes) {
  (void)::posix_fadvise(fd, position, static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

void NoReadAhead(int fd) { (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); }

int DropCache(int fd, off_t position) {
  // Zero means to the end. Only whole pages are dropped, so the page that the position is in goes with them.
  const off_t page = position - position % static_cast<off_t>(PageBytes());
  if (const int error = ::posix_fadvise(fd, page, 0, POSIX_FADV_DONTNEED)) {
    errno = error;
    return -1;
  }
  return 0;
}

int IsMemoryFileSystem(const char* path) {
  struct statfs stat;
  if (::statfs(path, &stat) != 0) return -1;
  const auto type = static_cast<unsigned long>(stat.f_type);
  return type == TMPFS_MAGIC || type == static_cast<unsigned long>(RAMFS_MAGIC) ? 1 : 0;
}

}  // namespace platform
}  // namespace millrace
