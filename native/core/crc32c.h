// CRC-32C (Castagnoli; reflected, initial value and final xor 0xFFFFFFFF): which implementations there are,
// and which one this processor runs. It must not know what a record is; that the sums of many records are
// made in one call is because one call for each would cost as much as the sum.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace {

struct Crc32c {
  const char* name;
  bool (*supported)();
  /** The sum of what `crc` was the sum of followed by `bytes`. Begins with 0. */
  std::uint32_t (*extend)(std::uint32_t crc, const std::uint8_t* bytes, std::size_t count);
  /**
   * Copies `records` entries of `int32 size | payload` from `wire` to `out` as `int32 size | int32 crc32c |
   * payload`. The first size is left out. Nothing is read from `wire_end` on, even if the sizes say
   * otherwise.
   */
  void (*copy_with_sums)(const std::uint8_t* wire, const std::uint8_t* wire_end, std::uint32_t records,
                         std::uint8_t* out);
};

/** The fastest one this processor supports. */
const Crc32c& ActiveCrc32c();

/** All that were compiled in, fastest first, whether supported or not. */
constexpr std::size_t kCrc32cKinds = 5;
extern const Crc32c* const kCrc32cTable[kCrc32cKinds];

extern const Crc32c kCrc32cAvx512;
extern const Crc32c kCrc32cSse42;
extern const Crc32c kCrc32cArmv8;
extern const Crc32c kCrc32cArmv8Chain;
extern const Crc32c kCrc32cTables;

}  // namespace millrace
