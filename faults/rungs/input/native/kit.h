// What the fuzz targets share: numbers taken from the front of an input, a demand that ends the process, and
// the sum written apart from the code under test.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/record_format.h"

namespace millrace::fuzz {

using Bytes = std::vector<std::uint8_t>;

/** libFuzzer keeps the input of a process that aborts. */
#define DEMAND(condition)                                                          \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "demand: %s, %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                \
    }                                                                              \
  } while (0)

/** Choices first, the bytes that are put to the test behind them. Zeros where the input ends. */
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  std::uint32_t U8() { return Take(1); }
  std::uint32_t U16() { return Take(2); }
  std::uint32_t U32() { return Take(4); }
  std::size_t left() const { return left_; }
  /** In memory of exactly its size, so that a read behind its end is seen. */
  Bytes Rest() {
    Bytes rest(at_, at_ + left_);
    left_ = 0;
    return rest;
  }

 private:
  std::uint32_t Take(int bytes) {
    std::uint32_t value = 0;
    for (; bytes > 0; bytes--) {
      value <<= 8;
      if (left_ == 0) continue;
      value |= *at_++;
      left_--;
    }
    return value;
  }

  const std::uint8_t* at_;
  std::size_t left_;
};

inline std::int64_t UnsignedAt(const Bytes& bytes, std::int64_t at) {
  std::int64_t value = 0;
  for (int i = 0; i < 4; i++) value = value * 256 + bytes.at(static_cast<std::size_t>(at + i));
  return value;
}

inline std::int64_t SignedAt(const Bytes& bytes, std::int64_t at) {
  const std::int64_t value = UnsignedAt(bytes, at);
  return value >= 0x80000000 ? value - 0x100000000 : value;
}

inline void PutAt(Bytes* bytes, std::int64_t at, std::uint32_t value) {
  for (int i = 0; i < 4; i++)
    (*bytes)[static_cast<std::size_t>(at + i)] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

/** By a table of bytes: the product's goes by words and by instructions of the processor. */
inline std::uint32_t PlainCrc32c(const Bytes& bytes, std::int64_t from, std::int64_t end) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> made(256);
    for (std::uint32_t i = 0; i < 256; i++) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
      made[i] = crc;
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (std::int64_t at = from; at < end; at++) {
    crc = (crc >> 8) ^ table[(crc ^ bytes[static_cast<std::size_t>(at)]) & 0xFF];
  }
  return ~crc;
}

/** Header sizes once more. */
inline std::int64_t HeaderBytes(bool summed) { return summed ? 8 : 4; }

/** Makes the sums of stored records right, as far as the lengths lead: random sums never are. */
inline void MendSums(Bytes* stored, std::int64_t from) {
  const auto size = static_cast<std::int64_t>(stored->size());
  for (std::int64_t at = from; at + 8 <= size;) {
    const std::int64_t length = SignedAt(*stored, at);
    if (length <= 0 || length > size - at - 8) return;
    PutAt(stored, at + 4, PlainCrc32c(*stored, at + 8, at + 8 + length));
    at += 8 + length;
  }
}

inline const RecordFormat& Format(bool summed) { return *FindRecordFormat(summed ? 1 : 0); }

}  // namespace millrace::fuzz
