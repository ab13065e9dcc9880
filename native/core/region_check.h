// Checks a record region as it came from the wire, before a byte of it is written: `records × (int32 size ≥ 1
// | payload)` that fill it exactly. It sizes the batch as stored and picks the records that get an index
// entry. It copies nothing.
#pragma once

#include <cstdint>

#include "core/abi.h"
#include "core/record_format.h"

namespace millrace {

/** Where index entries of an append go, and from which position on the next one is due. */
struct IndexCursor {
  std::uint32_t* rows = nullptr;
  std::uint32_t count = 0;
  std::uint32_t room = 0;
};

struct RegionBounds {
  const RecordFormat* format;
  /** The largest payload that fits an empty segment. */
  std::uint32_t max_payload;
  std::uint32_t index_interval;
};

/**
 * OK, CORRUPT or TOO_LARGE. `position` is where the batch will lie. With OK, `next_index` is moved on and
 * entries were added for `row`; otherwise both are as before. An entry that finds no room is left out.
 */
AppendStatus CheckRegion(const std::uint8_t* wire, std::uint32_t bytes, std::int32_t records,
                         const RegionBounds& bounds, std::uint32_t row, std::uint32_t position,
                         std::uint64_t* next_index, IndexCursor* index);

struct RegionMeasure {
  AppendStatus status = AppendStatus::kOk;
  std::uint32_t records = 0;
  std::uint32_t wire_bytes = 0;
  std::uint32_t stored_bytes = 0;
};

/** Checks the whole region, and how many of its leading records fit `room` stored bytes. */
RegionMeasure MeasureRegion(const std::uint8_t* wire, std::uint32_t bytes, std::int32_t records,
                            const RecordFormat& format, std::uint32_t room, std::uint32_t max_payload);

}  // namespace millrace
