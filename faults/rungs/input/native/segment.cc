// The scan of a stored segment, and the walk by its lengths, against plain references over the same bytes in
// memory.
//
//   u8 choices | u16 from | u32 limit | u16 interval | u16 records to walk | u16 zeros behind it | u16 a long
//   record in front, in units
//     | stored records

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/segment_scan.h"
#include "core/stored_walk.h"
#include "kit.h"

namespace millrace::fuzz {
namespace {

/** So that records go over the edges of the scan's window of 256 KiB. */
constexpr std::size_t kLongUnit = 9;

struct Scanned {
  ScanStop stop = ScanStop::kEnd;
  std::int64_t end = 0;
  std::uint64_t records = 0;
  std::int64_t tail = 0;
  std::vector<std::uint32_t> index;
};

std::int64_t TailOf(const Bytes& bytes, std::int64_t end, std::int64_t limit) {
  std::int64_t last = limit;
  while (last > end && bytes[static_cast<std::size_t>(last - 1)] == 0) last--;
  return std::max<std::int64_t>(0, last - end);
}

Scanned Reference(const Bytes& bytes, bool summed, std::int64_t from, std::int64_t limit,
                  std::int64_t interval) {
  limit = std::min(limit, static_cast<std::int64_t>(bytes.size()));
  const std::int64_t header = HeaderBytes(summed);
  Scanned scanned;
  std::int64_t due = from;
  std::int64_t at = from;
  while (at < limit) {
    if (limit - at < header) {
      const auto first = bytes.begin() + at;
      const bool zero =
          std::all_of(first, first + std::min<std::int64_t>(4, limit - at), [](int b) { return b == 0; });
      scanned.stop = zero ? ScanStop::kZeroPrefix : ScanStop::kTorn;
      break;
    }
    const std::int64_t length = SignedAt(bytes, at);
    if (length <= 0)
      scanned.stop = length == 0 ? ScanStop::kZeroPrefix : ScanStop::kBadLength;
    else if (at + header + length > limit)
      scanned.stop = ScanStop::kTorn;
    else if (summed && PlainCrc32c(bytes, at + header, at + header + length) != UnsignedAt(bytes, at + 4)) {
      scanned.stop = ScanStop::kBadSum;
    }
    if (scanned.stop != ScanStop::kEnd) break;
    if (at >= due) {
      scanned.index.insert(scanned.index.end(),
                           {static_cast<std::uint32_t>(scanned.records), static_cast<std::uint32_t>(at)});
      due = at + interval;
    }
    scanned.records++;
    at += header + length;
  }
  scanned.end = at;
  if (scanned.stop != ScanStop::kEnd) scanned.tail = TailOf(bytes, at, limit);
  return scanned;
}

WalkResult WalkReference(const Bytes& bytes, bool summed, std::int64_t from, std::uint64_t records,
                         std::int64_t limit) {
  const std::int64_t header = HeaderBytes(summed);
  std::int64_t at = from;
  for (; records > 0; records--) {
    if (limit - at < header || at + 4 > static_cast<std::int64_t>(bytes.size()))
      return {WalkOutcome::kEnded, at};
    const std::int64_t length = SignedAt(bytes, at);
    if (length <= 0 || header + length > limit - at) return {WalkOutcome::kEnded, at};
    at += header + length;
  }
  return {WalkOutcome::kFound, at};
}

Bytes LongRecord(std::size_t payload, bool summed) {
  Bytes record(static_cast<std::size_t>(HeaderBytes(summed)) + payload, 0x5A);
  PutAt(&record, 0, static_cast<std::uint32_t>(payload));
  if (summed) MendSums(&record, 0);
  return record;
}

void Run(Input input) {
  static const int fd = memfd_create("segment", MFD_CLOEXEC);
  DEMAND(fd >= 0);
  const std::uint32_t choices = input.U8();
  const bool summed = (choices & 1) != 0;
  const std::int64_t from_asked = input.U16();
  const std::int64_t limit_asked = input.U32();
  const std::uint32_t interval = 1 + input.U16();
  const std::uint64_t to_walk = input.U16();
  const std::size_t zeros = input.U16() % 4096;
  const std::size_t long_units = input.U16();
  Bytes bytes = input.Rest();
  if ((choices & 2) != 0) MendSums(&bytes, 0);
  if ((choices & 4) != 0 && long_units > 0) {
    const Bytes front = LongRecord(long_units * kLongUnit, summed);
    bytes.insert(bytes.begin(), front.begin(), front.end());
  }
  DEMAND(ftruncate(fd, 0) == 0);
  DEMAND(pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  // A hole, as the unused end of a mapped segment is.
  bytes.resize(bytes.size() + zeros);
  DEMAND(ftruncate(fd, static_cast<off_t>(bytes.size())) == 0);
  const std::int64_t from = (choices & 8) != 0 ? from_asked : 0;
  const std::int64_t limit =
      (choices & 16) != 0 ? limit_asked % 0x7FFFFFFF : static_cast<std::int64_t>(bytes.size());
  if (from > std::min(limit, static_cast<std::int64_t>(bytes.size()))) return;

  ScanResult scan;
  DEMAND(ScanSegment(fd, Format(summed), from, limit, interval, &scan) == 0);
  const Scanned expected = Reference(bytes, summed, from, limit, interval);
  DEMAND(scan.stop == expected.stop);
  DEMAND(scan.end == expected.end);
  DEMAND(scan.records == expected.records);
  DEMAND(scan.tail_bytes == expected.tail);
  DEMAND(scan.index == expected.index);

  const WalkResult walk = WalkStored(fd, Format(summed), from, to_walk, limit, (choices & 32) == 0);
  if (walk.outcome == WalkOutcome::kNotCached) {
    DEMAND((choices & 32) != 0);
    return;
  }
  const WalkResult walked = WalkReference(bytes, summed, from, to_walk, limit);
  DEMAND(walk.outcome == walked.outcome);
  DEMAND(walk.position == walked.position);
}

}  // namespace
}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::Run({data, size});
  return 0;
}
