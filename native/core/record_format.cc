// The table of record formats.

#include "core/record_format.h"

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"

namespace millrace {
namespace {

void EncodePlain(const std::uint8_t* wire, std::uint32_t bytes, std::uint32_t, std::uint8_t* out) {
  std::memcpy(out + kLengthBytes, wire + kWireHeader, bytes - kWireHeader);
}

void WritePlainHeader(const std::uint8_t*, std::uint32_t bytes, std::uint8_t* out) {
  StoreBigEndian32(out, bytes);
}

void EncodeCrc32c(const std::uint8_t* wire, std::uint32_t bytes, std::uint32_t records, std::uint8_t* out) {
  ActiveCrc32c().copy_with_sums(wire, wire + bytes, records, out);
}

void WriteCrc32cHeader(const std::uint8_t* payload, std::uint32_t bytes, std::uint8_t* out) {
  StoreBigEndian32(out, bytes);
  StoreBigEndian32(out + kLengthBytes, ActiveCrc32c().extend(0, payload, bytes));
}

std::uint32_t ExtendCrc32c(std::uint32_t sum, const std::uint8_t* bytes, std::size_t count) {
  return ActiveCrc32c().extend(sum, bytes, count);
}

std::uint32_t StoredCrc32c(const std::uint8_t* header) { return LoadBigEndian32(header + kLengthBytes); }

constexpr RecordFormat kFormats[kRecordFormats] = {
    {"plain", 4, true, EncodePlain, WritePlainHeader, nullptr, nullptr},
    {"crc32c", 8, false, EncodeCrc32c, WriteCrc32cHeader, ExtendCrc32c, StoredCrc32c},
};

}  // namespace

const RecordFormat* FindRecordFormat(std::uint32_t id) {
  return id < kRecordFormats ? &kFormats[id] : nullptr;
}

}  // namespace millrace
