// macOS. `fsync` there stops at the drive's own cache and `msync` is no barrier at all, so each barrier ends
// in F_FULLFSYNC.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/page.h"
#include "core/platform.h"
#include "core/residency.h"

namespace millrace {
namespace {

/** Some file systems (network, FAT) refuse F_FULLFSYNC; then `fsync` is all there is. */
int FullSync(int fd) {
  if (::fcntl(fd, F_FULLFSYNC) == 0) return 0;
  if (errno == ENOTSUP || errno == EINVAL || errno == ENOTTY) return ::fsync(fd);
  return -1;
}

}  // namespace

bool PagesCached(int fd, off_t position, std::size_t bytes, bool* begins) {
  if (begins != nullptr) *begins = false;
  if (bytes == 0) return true;
  // There is no call for a descriptor: a mapping that is never touched and mincore on it.
  const off_t first = position - position % static_cast<off_t>(PageBytes());
  const std::size_t length = static_cast<std::size_t>(position - first) + bytes;
  void* address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, first);
  if (address == MAP_FAILED) return false;
  std::vector<char> pages((length + PageBytes() - 1) / PageBytes());
  bool cached = ::mincore(static_cast<caddr_t>(address), length, pages.data()) == 0;
  for (const char page : pages) cached = cached && (page & MINCORE_INCORE) != 0;
  ::munmap(address, length);
  return cached;
}

namespace platform {

#if defined(__x86_64__)
const char* Name() { return "darwin-x64"; }
#elif defined(__aarch64__)
const char* Name() { return "darwin-arm64"; }
#else
const char* Name() { return "darwin"; }
#endif

void GiveWay() {}

int Open(const char* path, int flags) { return ::open(path, flags | O_CLOEXEC, 0644); }

int ForceFile(int fd) { return FullSync(fd); }
int ForceFileData(int fd) { return FullSync(fd); }

int ForceMapped(int fd, void* address, std::size_t bytes) {
  // msync hands the pages to the file system, the other call makes it and the drive write them.
  if (::msync(address, bytes, MS_SYNC) != 0) return -1;
  return FullSync(fd);
}

int TryJournal(int) { return 0; }  // F_FULLFSYNC says what failed.

ReserveResult ReserveBlocks(int fd, off_t from, off_t to) {
  struct stat stat;
  if (::fstat(fd, &stat) != 0) return ReserveResult::kFailed;
  // F_PREALLOCATE adds blocks behind the physical end only; holes inside the file's size cannot be filled by
  // it.
  if (stat.st_size > from) return ReserveResult::kUnsupported;
  const off_t have = static_cast<off_t>(stat.st_blocks) * 512;
  if (have >= to) return ReserveResult::kReserved;
  fstore_t store{};
  store.fst_flags = F_ALLOCATEALL;
  store.fst_posmode = F_PEOFPOSMODE;
  store.fst_length = to - have;
  if (::fcntl(fd, F_PREALLOCATE, &store) == 0) return ReserveResult::kReserved;
  return errno == ENOTSUP || errno == EINVAL ? ReserveResult::kUnsupported : ReserveResult::kFailed;
}

PopulateResult PopulateForWriting(void*, std::size_t) { return PopulateResult::kUnsupported; }

void FaultAlone(void*, std::size_t) {}

bool WriteOut(int, off_t, std::size_t) { return false; }

void HandOverMapping(void* address, std::size_t written) {
  // A failure shows in the F_FULLFSYNC that follows; without one nothing was promised.
  if (written > 0) (void)::msync(address, written, MS_SYNC);
}

ssize_t ReadCached(int fd, void* into, std::size_t bytes, off_t position) {
  if (!PagesCached(fd, position, bytes)) {
    errno = EAGAIN;
    return -1;
  }
  for (;;) {
    const ssize_t n = ::pread(fd, into, bytes, position);
    if (n >= 0 || errno != EINTR) return n;
  }
}

void ReadAhead(int fd, off_t position, std::size_t bytes) {
  radvisory advice{};
  advice.ra_offset = position;
  advice.ra_count = static_cast<int>(bytes);
  (void)::fcntl(fd, F_RDADVISE, &advice);
}

void NoReadAhead(int fd) { (void)::fcntl(fd, F_RDAHEAD, 0); }

int DropCache(int fd, off_t position) {
  // Invalidating a shared mapping is the only way to drop cached pages of a file here.
  struct stat stat;
  if (::fstat(fd, &stat) != 0) return -1;
  const off_t page = position - position % static_cast<off_t>(PageBytes());
  if (stat.st_size <= page) return 0;
  const auto length = static_cast<std::size_t>(stat.st_size - page);
  void* address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, page);
  if (address == MAP_FAILED) return -1;
  const int result = ::msync(address, length, MS_INVALIDATE);
  const int error = errno;
  ::munmap(address, length);
  errno = error;
  return result;
}

int IsMemoryFileSystem(const char* path) {
  struct statfs stat;
  if (::statfs(path, &stat) != 0) return -1;
  return std::strcmp(stat.f_fstypename, "tmpfs") == 0 ? 1 : 0;
}

}  // namespace platform
}  // namespace millrace
