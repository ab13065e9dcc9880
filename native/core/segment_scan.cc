// Through `pread` and not a mapping: a bad block is then an error of a call, not a signal. The window stays
// in the cache of the processor between the kernel's copy and the sum over it.

#include "core/segment_scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "core/bytes.h"
#include "core/io.h"
#include "core/platform.h"

namespace millrace {
namespace {

constexpr std::int64_t kWindowBytes = 256 * 1024;
/** How far the disk is asked to be ahead of the sums. */
constexpr std::int64_t kReadAheadBytes = 8 * 1024 * 1024;

/** A window that moves over the file. */
class Window {
 public:
  Window(int fd, std::int64_t limit) : fd_(fd), limit_(limit), bytes_(new std::uint8_t[kWindowBytes]) {}

  /** Makes at least `need` bytes at `at` available; the caller has seen to it that they lie before the limit.
   */
  int Load(std::int64_t at, std::int64_t need) {
    if (at >= from_ && at + need <= from_ + have_) return 0;
    if (at + kReadAheadBytes / 2 > asked_ && asked_ < limit_) {
      const std::int64_t to = std::min(limit_, std::max(at, asked_) + kReadAheadBytes);
      platform::ReadAhead(fd_, std::max(at, asked_), static_cast<std::size_t>(to - std::max(at, asked_)));
      asked_ = to;
    }
    const ssize_t n =
        ReadAt(fd_, bytes_.get(), static_cast<std::size_t>(std::min(kWindowBytes, limit_ - at)), at);
    if (n < 0) return errno;
    from_ = at;
    have_ = n;
    return n < need ? EIO : 0;  // The file became shorter under us.
  }
  const std::uint8_t* At(std::int64_t at) const { return bytes_.get() + (at - from_); }
  /** How many bytes are there from `at` on. */
  std::int64_t From(std::int64_t at) const { return std::max<std::int64_t>(0, from_ + have_ - at); }

 private:
  const int fd_;
  const std::int64_t limit_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::int64_t from_ = 0;
  std::int64_t have_ = 0;
  std::int64_t asked_ = 0;
};

/** The sum of a payload that may be longer than the window. */
int PayloadSum(Window* window, const RecordFormat& format, std::int64_t at, std::int64_t bytes,
               std::uint32_t* sum) {
  *sum = 0;
  while (bytes > 0) {
    if (const int error = window->Load(at, 1)) return error;
    const std::int64_t piece = std::min(bytes, window->From(at));
    *sum = format.extend_sum(*sum, window->At(at), static_cast<std::size_t>(piece));
    at += piece;
    bytes -= piece;
  }
  return 0;
}

/** Too few bytes for a header are left: zeros are the unused end of a mapped segment, anything else was cut
 * off. */
int JudgeRest(Window* window, std::int64_t at, std::int64_t limit, ScanStop* stop) {
  if (const int error = window->Load(at, limit - at)) return error;
  const std::uint8_t* rest = window->At(at);
  // As for a whole header: a length of zeros says that nothing follows.
  const std::int64_t length = std::min<std::int64_t>(limit - at, kLengthBytes);
  const bool zero = std::all_of(rest, rest + length, [](std::uint8_t byte) { return byte == 0; });
  *stop = zero ? ScanStop::kZeroPrefix : ScanStop::kTorn;
  return 0;
}

/** Bytes from `end` to the last one that is not zero. Holes are skipped, so a sparse rest of a segment costs
 * nothing. */
int TailBytes(int fd, std::int64_t end, std::int64_t limit, std::int64_t* tail) {
  auto buffer = std::make_unique<std::uint8_t[]>(kWindowBytes);
  std::int64_t last = end;
  for (std::int64_t at = end; at < limit;) {
    const off_t data = ::lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // Nothing but holes from here on.
    if (data > at) at = data;  // A file system without SEEK_DATA reports none, or fails: then all is read.
    if (at >= limit) break;
    const ssize_t n =
        ReadAt(fd, buffer.get(), static_cast<std::size_t>(std::min(kWindowBytes, limit - at)), at);
    if (n < 0) return errno;
    if (n == 0) break;
    for (ssize_t i = n; i > 0; i--) {
      if (buffer[i - 1] == 0) continue;
      last = at + i;
      break;
    }
    at += n;
  }
  *tail = last - end;
  return 0;
}

}  // namespace

int ScanSegment(int fd, const RecordFormat& format, std::int64_t from, std::int64_t limit,
                std::uint32_t index_interval, ScanResult* result) {
  struct stat stat{};
  if (::fstat(fd, &stat) != 0) return errno;
  limit = std::min<std::int64_t>(limit, stat.st_size);
  Window window(fd, limit);
  std::int64_t due = from;
  std::int64_t at = from;
  ScanStop stop = ScanStop::kEnd;
  while (at < limit) {
    if (limit - at < format.header_bytes) {
      if (const int error = JudgeRest(&window, at, limit, &stop)) return error;
      break;
    }
    if (const int error = window.Load(at, format.header_bytes)) return error;
    const std::uint8_t* const header = window.At(at);
    const auto length = static_cast<std::int32_t>(LoadBigEndian32(header));
    if (length <= 0) {
      stop = length == 0 ? ScanStop::kZeroPrefix : ScanStop::kBadLength;
      break;
    }
    const std::int64_t payload = at + format.header_bytes;
    if (length > limit - payload) {
      stop = ScanStop::kTorn;
      break;
    }
    if (format.extend_sum != nullptr) {
      const std::uint32_t promised = format.stored_sum(header);  // The window may move over the payload.
      std::uint32_t sum = 0;
      if (const int error = PayloadSum(&window, format, payload, length, &sum)) return error;
      if (sum != promised) {
        stop = ScanStop::kBadSum;
        break;
      }
    }
    if (at >= due) {
      result->index.push_back(static_cast<std::uint32_t>(result->records));
      result->index.push_back(static_cast<std::uint32_t>(at));
      due = at + index_interval;
    }
    result->records++;
    at = payload + length;
  }
  result->stop = stop;
  result->end = at;
  result->tail_bytes = 0;
  return stop == ScanStop::kEnd ? 0 : TailBytes(fd, at, limit, &result->tail_bytes);
}

}  // namespace millrace
