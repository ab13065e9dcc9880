// The check of what a PRODUCE carries, the measure of how much of it fits, and the bytes that it becomes,
// against plain references.
//
//   u8 choices | i32 records | u16 position | u16 next index entry | u16 interval | u8 room for entries | u32
//   longest payload
//     | u32 room in the segment | region

#include <algorithm>

#include "core/bytes.h"
#include "core/region_check.h"
#include "kit.h"
#include "wire.h"

namespace millrace::fuzz {
namespace {

constexpr std::uint32_t kSegmentBytesMax = 1u << 30;
constexpr std::uint32_t kRow = 7;

std::int64_t RecordsThere(const Bytes& wire) {
  std::int64_t records = 0;
  for (std::int64_t at = 0; at + 4 <= static_cast<std::int64_t>(wire.size()); records++) {
    const std::int64_t length = SignedAt(wire, at);
    if (length < 1) break;
    at += 4 + length;
  }
  return records;
}

/** As the copy into a segment does it: all but the first length, which is published last. */
Bytes Encoded(const Bytes& wire, std::uint32_t records, bool summed) {
  Bytes out(Format(summed).StoredBytes(wire.size(), records));
  Format(summed).encode(wire.data(), static_cast<std::uint32_t>(wire.size()), records, out.data());
  PutAt(&out, 0, static_cast<std::uint32_t>(SignedAt(wire, 0)));
  return out;
}

struct Index {
  std::vector<std::uint32_t> rows;
  std::int64_t next;
};

Index IndexOf(const Bytes& wire, bool summed, std::int64_t position, std::int64_t next, std::int64_t interval,
              std::size_t room) {
  Index index{{}, next};
  std::int64_t stored = position;
  std::uint32_t record = 0;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(wire.size()); record++) {
    if (stored >= index.next) {
      index.next = stored + interval;
      if (index.rows.size() < room * kIndexOutColumns) {
        index.rows.insert(index.rows.end(), {kRow, record, static_cast<std::uint32_t>(stored)});
      }
    }
    const std::int64_t length = SignedAt(wire, at);
    at += 4 + length;
    stored += HeaderBytes(summed) + length;
  }
  return index;
}

void Measure(const Bytes& wire, std::int32_t records, bool summed, std::uint32_t room, std::uint32_t longest,
             AppendStatus judged) {
  const RegionMeasure measure = MeasureRegion(wire.data(), static_cast<std::uint32_t>(wire.size()), records,
                                              Format(summed), room, longest);
  DEMAND(measure.status == judged);
  if (judged != AppendStatus::kOk) return;
  std::int64_t fitting = 0;
  std::int64_t stored = 0;
  std::int64_t at = 0;
  while (at < static_cast<std::int64_t>(wire.size())) {
    const std::int64_t length = SignedAt(wire, at);
    if (stored + HeaderBytes(summed) + length > room) break;
    stored += HeaderBytes(summed) + length;
    at += 4 + length;
    fitting++;
  }
  DEMAND(measure.records == fitting);
  DEMAND(measure.wire_bytes == at);
  DEMAND(measure.stored_bytes == stored);
}

void Run(Input input) {
  const std::uint32_t choices = input.U8();
  const bool summed = (choices & 1) != 0;
  auto records = static_cast<std::int32_t>(input.U32());
  const std::uint32_t position = input.U16();
  const std::uint32_t next = input.U16();
  const std::uint32_t interval = 1 + input.U16();
  const std::uint32_t index_room = input.U8();
  const std::uint32_t asked = input.U32();
  const std::uint32_t longest = 1 + ((choices & 2) != 0 ? asked % 100 : asked % kSegmentBytesMax);
  const std::uint32_t asked_room = input.U32();
  const std::uint32_t room = (choices & 4) != 0 ? asked_room % 1000 : asked_room % kSegmentBytesMax;
  const Bytes wire = input.Rest();
  if ((choices & 8) != 0) records = static_cast<std::int32_t>(RecordsThere(wire));

  std::vector<std::uint32_t> rows(index_room * kIndexOutColumns);
  IndexCursor cursor{rows.data(), 0, index_room};
  std::uint64_t next_index = next;
  const AppendStatus status =
      CheckRegion(wire.data(), static_cast<std::uint32_t>(wire.size()), records,
                  {&Format(summed), longest, interval}, kRow, position, &next_index, &cursor);
  const AppendStatus judged = Judge(wire, records, longest);
  DEMAND(status == judged);
  Measure(wire, records, summed, room, longest, judged);
  if (judged != AppendStatus::kOk) {
    DEMAND(cursor.count == 0 && next_index == next);
    return;
  }
  const Index index = IndexOf(wire, summed, position, next, interval, index_room);
  rows.resize(cursor.count * kIndexOutColumns);
  DEMAND(rows == index.rows);
  DEMAND(next_index == static_cast<std::uint64_t>(index.next));
  DEMAND(Encoded(wire, static_cast<std::uint32_t>(records), summed) == StoredAs(wire, summed));
}

}  // namespace
}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::Run({data, size});
  return 0;
}
