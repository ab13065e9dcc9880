// CRC-32C by tables, eight bytes at a step (slicing by eight), for processors without an instruction for it.

#include <array>
#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"
#include "core/crc32c_shift.h"

namespace millrace {
namespace {

#define MILLRACE_CRC_TARGET inline

constexpr bool kSplits = false;  // Eight lookups at once keep the processor busy as they are.

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; byte++) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCrc32cPolynomial : 0);
    tables[0][byte] = crc;
  }
  // tables[k][byte]: what `byte` does to the sum when k more bytes follow it.
  for (std::size_t k = 1; k < 8; k++) {
    for (std::size_t byte = 0; byte < 256; byte++) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

std::uint32_t Step8(std::uint32_t crc, std::uint8_t byte) {
  return (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xFF];
}

std::uint32_t Step64(std::uint32_t crc, std::uint64_t word) {
  word ^= crc;
  return kTables[7][word & 0xFF] ^ kTables[6][(word >> 8) & 0xFF] ^ kTables[5][(word >> 16) & 0xFF] ^
         kTables[4][(word >> 24) & 0xFF] ^ kTables[3][(word >> 32) & 0xFF] ^ kTables[2][(word >> 40) & 0xFF] ^
         kTables[1][(word >> 48) & 0xFF] ^ kTables[0][word >> 56];
}

[[maybe_unused]] std::uint32_t Shift(std::uint32_t state, std::uint32_t) { return state; }

#include "core/crc32c_kernel.inc"

}  // namespace

const Crc32c kCrc32cTables{"table", [] { return true; }, Extend, CopyWithSums};

}  // namespace millrace
