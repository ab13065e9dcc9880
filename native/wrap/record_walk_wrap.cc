// The bytes are a stranger's, the tables a caller's: both are bounded here, once for a whole answer.

#include "wrap/record_walk_wrap.h"

#include "core/abi.h"
#include "core/record_walk.h"
#include "wrap/args.h"

namespace millrace {
namespace {

napi_value WalkRecordsCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  Bytes bytes;
  std::uint32_t from, format, room, max_payload;
  void* ranges = nullptr;
  void* walked = nullptr;
  std::size_t range_words = 0;
  std::size_t walked_words = 0;
  if (!ReadBytes(env, args[0], "bytes", &bytes) ||
      !ReadWords(env, args[4], "ranges", napi_uint32_array, &ranges, &range_words) ||
      !ReadWords(env, args[6], "walked", napi_uint32_array, &walked, &walked_words)) {
    return nullptr;
  }
  if (bytes.count > INT32_MAX) {
    ThrowRange(env, "bytes must not be longer than 2147483647");
    return nullptr;
  }
  if (walked_words < kWalkColumns) {
    ThrowRange(env, "walked must have room for 4 numbers");
    return nullptr;
  }
  const auto end = static_cast<std::uint32_t>(bytes.count);
  const std::size_t room_max = range_words / 2 > INT32_MAX ? INT32_MAX : range_words / 2;
  if (!ReadUint32(env, args[1], "from", 0, end, &from) ||
      !ReadUint32(env, args[2], "format", 0, kRecordFormats - 1, &format) ||
      !ReadUint32(env, args[3], "maxPayload", 0, kSegmentBytesMax, &max_payload) ||
      !ReadUint32(env, args[5], "room", 0, static_cast<std::uint32_t>(room_max), &room)) {
    return nullptr;
  }
  const RecordWalk walk = WalkRecords(bytes.data, from, end, *FindRecordFormat(format), max_payload,
                                      static_cast<std::uint32_t*>(ranges), room);
  auto* out = static_cast<std::uint32_t*>(walked);
  out[walk_column::kRecords] = walk.records;
  out[walk_column::kStop] = static_cast<std::uint32_t>(walk.stop);
  out[walk_column::kPosition] = walk.position;
  out[walk_column::kCutRecordBytes] = walk.cut_record_bytes;
  return Undefined(env);
}

}  // namespace

void ExportRecordWalk(napi_env env, napi_value exports) {
  SetFunction(env, exports, "walkRecords", WalkRecordsCall);
}

}  // namespace millrace
