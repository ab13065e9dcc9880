// The bytes that floor server and load generator exchange, so far as the bench needs them: PRODUCE v1, FETCH
// v1 and v2.
//
//   request    int32 length | int16 apiKey | int16 apiVersion | int32 correlationId | body
//   response   int32 length | int32 correlationId | int16 errorCode | body
//   PRODUCE    string topic | int32 partition | int8 ack | int32 count | count × (int32 size | payload)
//              → int64 baseOffset | int64 logEndOffset
//   FETCH      string topic | int32 partition | int64 fetchOffset | int32 maxBytes
//              v2: … | int32 maxWaitMillis | int32 minBytes
//              → int64 highWatermark | int32 payloadBytes | payload
//
// It is written a second time here, and not taken from src/, on purpose: a generator that shared code with
// the broker would share its mistakes.
#pragma once

#include <cstdint>
#include <cstring>

namespace bench {

inline void Put16(uint8_t* at, uint16_t v) {
  v = __builtin_bswap16(v);
  memcpy(at, &v, 2);
}
inline void Put32(uint8_t* at, uint32_t v) {
  v = __builtin_bswap32(v);
  memcpy(at, &v, 4);
}
inline void Put64(uint8_t* at, uint64_t v) {
  v = __builtin_bswap64(v);
  memcpy(at, &v, 8);
}
inline uint16_t Get16(const uint8_t* at) {
  uint16_t v;
  memcpy(&v, at, 2);
  return __builtin_bswap16(v);
}
inline uint32_t Get32(const uint8_t* at) {
  uint32_t v;
  memcpy(&v, at, 4);
  return __builtin_bswap32(v);
}
inline uint64_t Get64(const uint8_t* at) {
  uint64_t v;
  memcpy(&v, at, 8);
  return __builtin_bswap64(v);
}

constexpr uint16_t kApiProduce = 1;
constexpr uint16_t kApiFetch = 2;
constexpr uint32_t kRequestHeader = 12;   // with its length prefix
constexpr uint32_t kResponseHeader = 10;  // with its length prefix
constexpr uint32_t kProduceAnswer = kResponseHeader + 16;
constexpr uint32_t kFetchAnswer = kResponseHeader + 12;  // what stands before the payload
constexpr uint32_t kMaxFrameBytes = 8u << 20;

constexpr uint16_t kErrorNone = 0;
constexpr uint16_t kErrorOffsetOutOfRange = 2;
constexpr uint16_t kErrorUnsupportedVersion = 4;
constexpr uint16_t kErrorCorruptRequest = 5;

}  // namespace bench
