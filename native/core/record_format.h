// How a record lies in a segment. Big-endian.
//
//   wire     int32 size   | payload                           what PRODUCE carries
//   plain    int32 length | payload
//   crc32c   int32 length | int32 crc32c(payload) | payload
//
// `length` counts the payload and is at least 1: a zero length is the end of the log. A format is a row of
// the table; nothing outside of it knows a header's size or what is in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/abi.h"

namespace millrace {

/** The size in front of each payload on the wire. */
constexpr std::uint32_t kWireHeader = 4;
/** In every format the entry begins with the length: what makes it visible when it is written last. */
constexpr std::uint32_t kLengthBytes = 4;

struct RecordFormat {
  const char* name;
  std::uint32_t header_bytes;
  /** What is stored is what the wire carries, byte for byte. */
  bool stored_as_wire;

  /** Writes a checked region as stored, all but the very first length, which the caller publishes. */
  void (*encode)(const std::uint8_t* wire, std::uint32_t bytes, std::uint32_t records, std::uint8_t* out);
  /** Writes the whole header of one record. */
  void (*write_header)(const std::uint8_t* payload, std::uint32_t bytes, std::uint8_t* out);

  /** Null when a format has no sums. Else: the sum of a payload that comes in pieces, begun with 0, … */
  std::uint32_t (*extend_sum)(std::uint32_t sum, const std::uint8_t* bytes, std::size_t count);
  /** … and the sum that a header promises. */
  std::uint32_t (*stored_sum)(const std::uint8_t* header);

  /** What `records` records that take `wire_bytes` on the wire take as stored. */
  std::uint64_t StoredBytes(std::uint64_t wire_bytes, std::uint64_t records) const {
    return wire_bytes + records * (header_bytes - kWireHeader);
  }
};

/** Null for a number that is no format. */
const RecordFormat* FindRecordFormat(std::uint32_t id);

}  // namespace millrace
