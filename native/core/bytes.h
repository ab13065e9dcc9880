// Big-endian numbers in memory, as they lie on the wire and on disk.
#pragma once

#include <cstdint>
#include <cstring>

namespace millrace {

constexpr std::uint32_t HostFromBigEndian(std::uint32_t value) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  return __builtin_bswap32(value);
#else
  return value;
#endif
}
constexpr std::uint32_t BigEndianFromHost(std::uint32_t value) { return HostFromBigEndian(value); }

inline std::uint32_t LoadBigEndian32(const std::uint8_t* at) {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return HostFromBigEndian(value);
}

inline void StoreBigEndian32(std::uint8_t* at, std::uint32_t value) {
  value = BigEndianFromHost(value);
  std::memcpy(at, &value, sizeof value);
}

}  // namespace millrace
