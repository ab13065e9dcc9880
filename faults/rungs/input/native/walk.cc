// The walk over records that a FETCH brought against a plain reference.
//
//   u8 choices | u8 from | u8 room | u32 longest payload | stored records

#include "core/record_walk.h"
#include "kit.h"

namespace millrace::fuzz {
namespace {

constexpr std::uint32_t kSegmentBytesMax = 1u << 30;

struct Found {
  std::vector<std::uint32_t> ranges;
  WalkStop stop = WalkStop::kEnd;
  std::int64_t position = 0;
  std::int64_t cut = 0;
};

Found Reference(const Bytes& bytes, std::int64_t from, bool summed, std::int64_t longest, std::size_t room) {
  Found found;
  const auto end = static_cast<std::int64_t>(bytes.size());
  const std::int64_t header = HeaderBytes(summed);
  std::int64_t at = from;
  for (; at < end; found.position = at) {
    found.position = at;
    if (found.ranges.size() == 2 * room) {
      found.stop = WalkStop::kFull;
      return found;
    }
    if (end - at < 4) {
      found.stop = WalkStop::kCut;
      return found;
    }
    const std::int64_t length = UnsignedAt(bytes, at);
    if (length < 1 || length > longest) {
      found.stop = WalkStop::kBadLength;
      return found;
    }
    const std::int64_t next = at + header + length;
    if (next > end) {
      found.stop = WalkStop::kCut;
      found.cut = header + length;
      return found;
    }
    if (summed && PlainCrc32c(bytes, at + header, next) != UnsignedAt(bytes, at + 4)) {
      found.stop = WalkStop::kBadSum;
      return found;
    }
    found.ranges.push_back(static_cast<std::uint32_t>(at + header));
    found.ranges.push_back(static_cast<std::uint32_t>(next));
    at = next;
  }
  found.position = at;
  return found;
}

void Run(Input input) {
  const std::uint32_t choices = input.U8();
  const bool summed = (choices & 1) != 0;
  const std::uint32_t skipped = (choices & 2) != 0 ? input.U8() : (input.U8(), 0);
  const std::uint32_t room = input.U8();
  const std::uint32_t asked = input.U32();
  const std::uint32_t longest = 1 + ((choices & 4) != 0 ? asked % 100 : asked % kSegmentBytesMax);
  Bytes bytes = input.Rest();
  const std::uint32_t from = std::min<std::uint32_t>(skipped, static_cast<std::uint32_t>(bytes.size()));
  if ((choices & 8) != 0) MendSums(&bytes, from);

  std::vector<std::uint32_t> ranges(2 * room);
  const RecordWalk walk = WalkRecords(bytes.data(), from, static_cast<std::uint32_t>(bytes.size()),
                                      Format(summed), longest, ranges.data(), room);
  DEMAND(walk.records <= room);
  ranges.resize(2 * walk.records);
  const Found expected = Reference(bytes, from, summed, longest, room);
  DEMAND(ranges == expected.ranges);
  DEMAND(walk.stop == expected.stop);
  DEMAND(walk.position == expected.position);
  DEMAND(walk.cut_record_bytes == expected.cut);
}

}  // namespace
}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::Run({data, size});
  return 0;
}
