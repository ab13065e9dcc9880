// Two walks over the sizes: the fast one of an append, which finds that all is well, and the slow one that
// says what is not.

#include "core/region_check.h"

#include "core/bytes.h"

namespace millrace {
namespace {

/** Whether the structure holds, whatever the records' sizes. */
bool StructureHolds(const std::uint8_t* wire, std::uint32_t bytes, std::int32_t records) {
  std::uint32_t at = 0;
  for (std::int32_t i = 0; i < records; i++) {
    if (bytes - at < kWireHeader) return false;
    const auto size = static_cast<std::int32_t>(LoadBigEndian32(wire + at));
    at += kWireHeader;
    if (size < 1 || static_cast<std::uint32_t>(size) > bytes - at) return false;
    at += static_cast<std::uint32_t>(size);
  }
  return at == bytes;
}

AppendStatus Blame(const std::uint8_t* wire, std::uint32_t bytes, std::int32_t records) {
  return StructureHolds(wire, bytes, records) ? AppendStatus::kTooLarge : AppendStatus::kCorrupt;
}

/** A cheap bound that also keeps positions of a batch that is nonsense from overflowing: each record takes
 * five bytes. */
bool CountIsPossible(std::uint32_t bytes, std::int32_t records) {
  return records > 0 && static_cast<std::uint32_t>(records) <= bytes / (kWireHeader + 1);
}

}  // namespace

AppendStatus CheckRegion(const std::uint8_t* wire, std::uint32_t bytes, std::int32_t records,
                         const RegionBounds& bounds, std::uint32_t row, std::uint32_t position,
                         std::uint64_t* next_index, IndexCursor* index) {
  if (!CountIsPossible(bytes, records)) return AppendStatus::kCorrupt;
  const std::uint32_t extra = bounds.format->header_bytes - kWireHeader;
  const std::uint32_t entries_before = index->count;
  std::uint64_t due = *next_index;
  std::uint64_t stored = position;
  std::uint32_t at = 0;
  for (std::int32_t i = 0; i < records; i++) {
    if (bytes - at < kWireHeader) break;
    const std::uint32_t size = LoadBigEndian32(wire + at);
    // One comparison for zero, negative and too large: zero wraps around, negatives are beyond 2^31.
    if (size - 1 >= bounds.max_payload || size > bytes - at - kWireHeader) break;
    if (stored >= due) {
      due = stored + bounds.index_interval;
      if (index->count < index->room) {
        std::uint32_t* entry = index->rows + std::size_t{index->count++} * kIndexOutColumns;
        entry[0] = row;
        entry[1] = static_cast<std::uint32_t>(i);
        entry[2] = static_cast<std::uint32_t>(stored);
      }
    }
    at += kWireHeader + size;
    stored += kWireHeader + size + extra;
    if (i + 1 == records && at == bytes) {
      *next_index = due;
      return AppendStatus::kOk;
    }
  }
  index->count = entries_before;
  return Blame(wire, bytes, records);
}

RegionMeasure MeasureRegion(const std::uint8_t* wire, std::uint32_t bytes, std::int32_t records,
                            const RecordFormat& format, std::uint32_t room, std::uint32_t max_payload) {
  RegionMeasure measure;
  if (!CountIsPossible(bytes, records) || !StructureHolds(wire, bytes, records)) {
    measure.status = AppendStatus::kCorrupt;
    return measure;
  }
  bool fits = true;
  std::uint64_t stored = 0;
  for (std::uint32_t at = 0; at < bytes;) {
    const std::uint32_t size = LoadBigEndian32(wire + at);
    if (size > max_payload) {
      measure.status = AppendStatus::kTooLarge;
      return measure;
    }
    at += kWireHeader + size;
    stored += format.header_bytes + size;
    fits = fits && stored <= room;
    if (fits) {
      measure.records++;
      measure.wire_bytes = at;
      measure.stored_bytes = static_cast<std::uint32_t>(stored);
    }
  }
  return measure;
}

}  // namespace millrace
