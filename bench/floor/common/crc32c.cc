#include "common/crc32c.h"

#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace bench {
namespace {

#if defined(__x86_64__)
inline uint64_t Step8(uint64_t crc, uint64_t v) { return _mm_crc32_u64(crc, v); }
inline uint32_t Step1(uint32_t crc, uint8_t v) { return _mm_crc32_u8(crc, v); }
#elif defined(__ARM_FEATURE_CRC32)
inline uint64_t Step8(uint64_t crc, uint64_t v) { return __crc32cd(static_cast<uint32_t>(crc), v); }
inline uint32_t Step1(uint32_t crc, uint8_t v) { return __crc32cb(crc, v); }
#else
constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
inline uint32_t Step1(uint32_t crc, uint8_t v) {
  crc ^= v;
  for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  return crc;
}
inline uint64_t Step8(uint64_t crc, uint64_t v) {
  uint32_t c = static_cast<uint32_t>(crc);
  for (int i = 0; i < 8; i++) c = Step1(c, static_cast<uint8_t>(v >> (8 * i)));
  return c;
}
#endif

inline uint64_t Load8(const uint8_t* at) {
  uint64_t v;
  memcpy(&v, at, 8);
  return v;
}

// What kLane zero bytes do to a sum, a table for each of its four bytes: that is how three streams become
// one.
constexpr size_t kLane = 256;
struct Shift {
  uint32_t table[4][256];
  Shift() {
    for (int byte = 0; byte < 4; byte++) {
      for (uint32_t value = 0; value < 256; value++) {
        uint64_t crc = value << (8 * byte);
        for (size_t i = 0; i < kLane; i += 8) crc = Step8(crc, 0);
        table[byte][value] = static_cast<uint32_t>(crc);
      }
    }
  }
  uint32_t operator()(uint32_t crc) const {
    return table[0][crc & 0xff] ^ table[1][(crc >> 8) & 0xff] ^ table[2][(crc >> 16) & 0xff] ^
           table[3][crc >> 24];
  }
};

}  // namespace

uint32_t Crc32c(const uint8_t* data, size_t bytes) {
  uint64_t crc = 0xFFFFFFFFu;
  if (bytes >= 3 * kLane) {
    static const Shift shift;
    while (bytes >= 3 * kLane) {
      uint64_t second = 0;
      uint64_t third = 0;
      for (size_t i = 0; i < kLane; i += 8) {
        crc = Step8(crc, Load8(data + i));
        second = Step8(second, Load8(data + kLane + i));
        third = Step8(third, Load8(data + 2 * kLane + i));
      }
      crc = shift(shift(static_cast<uint32_t>(crc)) ^ static_cast<uint32_t>(second)) ^
            static_cast<uint32_t>(third);
      data += 3 * kLane;
      bytes -= 3 * kLane;
    }
  }
  for (; bytes >= 8; data += 8, bytes -= 8) crc = Step8(crc, Load8(data));
  uint32_t tail = static_cast<uint32_t>(crc);
  for (; bytes > 0; data++, bytes--) tail = Step1(tail, *data);
  return tail ^ 0xFFFFFFFFu;
}

}  // namespace bench
