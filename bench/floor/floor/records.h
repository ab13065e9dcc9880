// From a request's record region to what lies on disk, in the plainest way there is.
//
//   region   count × (int32 size | payload)
//   plain    the same bytes
//   crc32c   count × (int32 size | int32 crc32c(payload) | payload)
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/crc32c.h"
#include "common/wire.h"

namespace bench {

inline uint64_t StoredBytes(uint64_t region_bytes, uint64_t records, bool sums) {
  return region_bytes + (sums ? 4 * records : 0);
}

/** Whether the region holds exactly `records` records of at least one byte. */
inline bool RegionIsSound(const uint8_t* region, uint64_t bytes, uint64_t records) {
  uint64_t at = 0;
  for (; records > 0; records--) {
    if (bytes - at < 4) return false;
    const uint32_t size = Get32(region + at);
    if (size == 0 || size > bytes - at - 4) return false;
    at += 4 + size;
  }
  return at == bytes;
}

/** Writes a sound region to `out` as it is stored; returns how many bytes that took. */
inline uint64_t Store(uint8_t* out, const uint8_t* region, uint64_t bytes, bool sums) {
  if (!sums) {
    memcpy(out, region, bytes);
    return bytes;
  }
  uint8_t* to = out;
  for (const uint8_t* at = region; at < region + bytes;) {
    const uint32_t size = Get32(at);
    memcpy(to, at, 4);
    Put32(to + 4, Crc32c(at + 4, size));
    memcpy(to + 8, at + 4, size);
    to += 8 + size;
    at += 4 + size;
  }
  return static_cast<uint64_t>(to - out);
}

/** A region of `records` records of `size` bytes that are not all alike. */
inline std::vector<uint8_t> MakeRegion(uint64_t records, uint64_t size) {
  std::vector<uint8_t> region(records * (4 + size));
  for (uint64_t r = 0; r < records; r++) {
    uint8_t* at = region.data() + r * (4 + size);
    Put32(at, static_cast<uint32_t>(size));
    for (uint64_t i = 0; i < size; i++) at[4 + i] = static_cast<uint8_t>('a' + (r * 7 + i) % 26);
  }
  return region;
}

}  // namespace bench
