// An interrupted call is made again, a barrier too: EINTR says that it was not carried out, unlike every
// other error.

#include "core/io.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "core/platform.h"

namespace millrace {
namespace {

std::atomic<std::uint64_t> barriers{0};

#if defined(IOV_MAX)
constexpr std::size_t kVectorsMax = IOV_MAX;
#else
constexpr std::size_t kVectorsMax = 1024;
#endif

/**
 * Zeros are written in pieces of this size: large enough to be rare calls, small enough for the read-only
 * segment. A piece becomes a folio of the cache, so they are aligned. Larger ones need runs of free memory
 * that a virtual machine's host may have to bring first (docs/decisions.md).
 */
constexpr std::size_t kZeroPiece = 64 * 1024;
const std::uint8_t kZeros[kZeroPiece] = {};

/**
 * A barrier that was under way when its file system gave up (an aborted journal) may say 0 with the data
 * gone: what it would have waited for has failed by then, and ext4 tells that to nobody. It notices when
 * somebody begins a transaction, and refuses every write from then on, one of no bytes, too. Neither
 * changes anything that matters where all is well (docs/decisions.md).
 */
int StillWritable(int fd) {
  if (const int code = platform::TryJournal(fd)) return code;
  while (::pwrite(fd, "", 0, 0) < 0) {
    if (errno == EBADF || errno == EISDIR) return 0;  // A directory.
    if (errno != EINTR) return errno;
  }
  return 0;
}

template <typename Call>
int Barrier(int fd, Call call) {
  for (;;) {
    barriers.fetch_add(1, std::memory_order_relaxed);
    if (call() == 0) return StillWritable(fd);
    if (errno != EINTR) return errno;
  }
}

}  // namespace

ssize_t ReadAt(int fd, void* into, std::size_t bytes, off_t position) {
  auto* at = static_cast<std::uint8_t*>(into);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::pread(fd, at + done, bytes - done, position + static_cast<off_t>(done));
    if (n == 0) break;
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<ssize_t>(done);
}

int WriteAt(int fd, const void* from, std::size_t bytes, off_t position) {
  iovec part{const_cast<void*>(from), bytes};
  return WriteVectorsAt(fd, &part, 1, position);
}

int WriteVectorsAt(int fd, iovec* parts, std::size_t count, off_t position) {
  while (count > 0) {
    if (parts->iov_len == 0) {
      parts++;
      count--;
      continue;
    }
    const int group = static_cast<int>(std::min(count, kVectorsMax));
    const ssize_t written = ::pwritev(fd, parts, group, position);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return EIO;  // No file system should; going on would be for ever.
    position += written;
    auto left = static_cast<std::size_t>(written);
    while (left > 0) {
      const std::size_t step = std::min(left, parts->iov_len);
      parts->iov_base = static_cast<std::uint8_t*>(parts->iov_base) + step;
      parts->iov_len -= step;
      left -= step;
      if (parts->iov_len == 0) {
        parts++;
        count--;
      }
    }
  }
  return 0;
}

int WriteZeros(int fd, off_t from, off_t to) {
  constexpr auto kPiece = static_cast<off_t>(kZeroPiece);
  while (from < to) {
    const auto piece = static_cast<std::size_t>(std::min(to, from - from % kPiece + kPiece) - from);
    if (const int error = WriteAt(fd, kZeros, piece, from)) return error;
    from += static_cast<off_t>(piece);
  }
  return 0;
}

int ResizeFile(int fd, off_t bytes) {
  while (::ftruncate(fd, bytes) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int ForceFile(int fd) {
  return Barrier(fd, [fd] { return platform::ForceFile(fd); });
}
int ForceFileData(int fd) {
  return Barrier(fd, [fd] { return platform::ForceFileData(fd); });
}
int ForceMapped(int fd, void* address, std::size_t bytes) {
  return Barrier(fd, [=] { return platform::ForceMapped(fd, address, bytes); });
}

std::uint64_t BarrierCount() { return barriers.load(std::memory_order_relaxed); }

}  // namespace millrace
