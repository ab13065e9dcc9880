// The order of the checks is that of src/protocol/records.ts: both answer the same for the same bytes.

#include "core/record_walk.h"

#include "core/bytes.h"

namespace millrace {

RecordWalk WalkRecords(const std::uint8_t* bytes, std::uint32_t from, std::uint32_t end,
                       const RecordFormat& format, std::uint32_t max_payload, std::uint32_t* ranges,
                       std::uint32_t room) {
  RecordWalk walk{0, WalkStop::kEnd, from, 0};
  while (walk.position < end) {
    if (walk.records == room) {
      walk.stop = WalkStop::kFull;
      return walk;
    }
    const std::uint32_t left = end - walk.position;
    if (left < kLengthBytes) {
      walk.stop = WalkStop::kCut;
      return walk;
    }
    const std::uint8_t* header = bytes + walk.position;
    const std::uint32_t length = LoadBigEndian32(header);
    if (length == 0 || length > max_payload) {
      walk.stop = WalkStop::kBadLength;
      return walk;
    }
    const std::uint64_t entry = std::uint64_t{format.header_bytes} + length;
    if (entry > left) {
      walk.stop = WalkStop::kCut;
      walk.cut_record_bytes = static_cast<std::uint32_t>(entry);
      return walk;
    }
    const std::uint8_t* payload = header + format.header_bytes;
    if (format.extend_sum != nullptr && format.extend_sum(0, payload, length) != format.stored_sum(header)) {
      walk.stop = WalkStop::kBadSum;
      return walk;
    }
    ranges[2 * walk.records] = walk.position + format.header_bytes;
    walk.position += static_cast<std::uint32_t>(entry);
    ranges[2 * walk.records + 1] = walk.position;
    walk.records++;
  }
  return walk;
}

}  // namespace millrace
