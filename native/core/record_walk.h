// The walk of a reader over records in memory, as a FETCH brought them: where each payload lies, and whether
// its sum is right. One call for a whole answer. src/client/record-walker.ts does the same in JavaScript.
#pragma once

#include <cstdint>

#include "core/abi.h"
#include "core/record_format.h"

namespace millrace {

struct RecordWalk {
  std::uint32_t records;
  WalkStop stop;
  /** Behind the last whole record. */
  std::uint32_t position;
  /** With kCut: what the whole record takes; 0 when not even its length is there. */
  std::uint32_t cut_record_bytes;
};

/**
 * Walks over the records of `[from, end)`; `end` is at most INT32_MAX. Writes where each payload begins and
 * ends, two numbers a record, at most `room` records. Bytes that another thread changes meanwhile are never
 * left.
 */
RecordWalk WalkRecords(const std::uint8_t* bytes, std::uint32_t from, std::uint32_t end,
                       const RecordFormat& format, std::uint32_t max_payload, std::uint32_t* ranges,
                       std::uint32_t room);

}  // namespace millrace
