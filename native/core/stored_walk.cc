// Reads windows, not single headers: an index interval of small records is one call. Long records are stepped
// over, a call for each header.

#include "core/stored_walk.h"

#include <algorithm>
#include <cerrno>

#include "core/bytes.h"
#include "core/io.h"
#include "core/platform.h"

namespace millrace {
namespace {

/** An index interval of the default size: a walk begins at an entry and mostly ends before the next one, and
 * what is read behind that is copied for nothing. */
constexpr std::int64_t kFirstBytes = 4 * 1024;
/** Records differ: to what they will take about, so much and a quarter are added. */
constexpr std::int64_t kSlackBytes = 64;
/** What comes after it: a walk that is longer than usual should not need many calls. */
constexpr std::int64_t kWindowBytes = 8 * 1024;

/** Reads up to `most` bytes, and one header's worth at least. The bytes read, 0 when there are too few, −1
 * with errno. */
ssize_t FillWindow(int fd, std::uint8_t* window, std::int64_t at, std::int64_t most, std::size_t need,
                   bool wait) {
  const auto want = static_cast<std::size_t>(most);
  ssize_t have = wait ? ReadAt(fd, window, want, at) : platform::ReadCached(fd, window, want, at);
  if (have > 0 && static_cast<std::size_t>(have) < need && !wait) {
    // The header goes over the edge of what is cached.
    const ssize_t rest =
        platform::ReadCached(fd, window + have, want - static_cast<std::size_t>(have), at + have);
    if (rest < 0) return rest;
    have += rest;
  }
  return have >= static_cast<ssize_t>(need) || have < 0 ? have : 0;
}

}  // namespace

WalkResult WalkStored(int fd, const RecordFormat& format, std::int64_t from, std::uint64_t records,
                      std::int64_t limit, bool wait, std::int64_t likely) {
  const std::int64_t first =
      likely == 0 ? kFirstBytes : std::min(likely + likely / 4 + kSlackBytes, kWindowBytes);
  std::uint8_t window[kWindowBytes];
  std::int64_t window_from = from;
  std::int64_t window_bytes = 0;
  std::int64_t at = from;
  for (; records > 0; records--) {
    if (limit - at < format.header_bytes) return {WalkOutcome::kEnded, at};
    if (at + kLengthBytes > window_from + window_bytes) {
      const std::int64_t most = at == from ? first : kWindowBytes;
      const ssize_t have = FillWindow(fd, window, at, std::min(most, limit - at), kLengthBytes, wait);
      if (have < 0) {
        return {!wait && errno == EAGAIN ? WalkOutcome::kNotCached : WalkOutcome::kFailed, at};
      }
      if (have == 0) return {WalkOutcome::kEnded, at};
      window_from = at;
      window_bytes = have;
    }
    const std::uint32_t length = LoadBigEndian32(window + (at - window_from));
    const std::int64_t entry = std::int64_t{format.header_bytes} + length;
    if (length == 0 || length > INT32_MAX || entry > limit - at) return {WalkOutcome::kEnded, at};
    at += entry;
  }
  return {WalkOutcome::kFound, at};
}

}  // namespace millrace
