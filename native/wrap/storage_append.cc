// Everything that the native side will touch is checked before the first byte is written: the tables' sizes
// here, the rows in core/append.

#include "wrap/storage_append.h"

#include <string>
#include <utility>
#include <vector>

#include "core/append.h"
#include "core/region_check.h"
#include "wrap/args.h"
#include "wrap/env.h"
#include "wrap/storage_env.h"

namespace millrace {
namespace {

/** False when it has thrown. Looks at no memory. */
bool ReadElements(napi_env env, napi_value value, std::vector<napi_value>* elements) {
  std::uint32_t count = 0;
  if (napi_get_array_length(env, value, &count) != napi_ok) {
    ThrowType(env, "sources must be an array");
    return false;
  }
  for (std::uint32_t i = 0; i < count; i++) {
    napi_value element = nullptr;
    if (napi_get_element(env, value, i, &element) != napi_ok) return false;
    // Of an array that is only long there may be billions.
    if (IsUndefined(env, element)) {
      ThrowType(env, "a source must be a Uint8Array");
      return false;
    }
    elements->push_back(element);
  }
  return true;
}

/**
 * Two passes: reading an element can run JavaScript (a getter), which can append itself, and take away the
 * memory of the elements before. So the list is the call's own meanwhile, and memory is looked up when no
 * JavaScript runs any more.
 */
bool ReadSources(napi_env env, napi_value value, StorageEnv* storage) {
  std::vector<napi_value> elements = std::move(storage->source_elements);
  elements.clear();
  bool good = ReadElements(env, value, &elements);
  storage->sources.clear();
  for (std::size_t i = 0; good && i < elements.size(); i++) {
    Bytes bytes;
    good = ReadBytes(env, elements[i], "a source", &bytes);
    storage->sources.push_back({bytes.data, bytes.count});
  }
  storage->source_elements = std::move(elements);
  return good;
}

void ThrowFault(napi_env env, const AppendResult& result) {
  const std::string row = "row " + std::to_string(result.row) + " of the append table: ";
  switch (result.fault) {
    case TableFault::kWriter:
      ThrowRange(env, row + "no open segment writer has this id");
      break;
    case TableFault::kSource:
      ThrowRange(env, row + "there is no such source");
      break;
    case TableFault::kRange:
      ThrowRange(env, row + "the range lies outside its source");
      break;
    case TableFault::kNone:
      break;
  }
}

}  // namespace

napi_value Append(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  StorageEnv& storage = *EnvData::Get(env)->storage();
  void* table = nullptr;
  void* index_out = nullptr;
  std::size_t table_words = 0;
  std::size_t index_words = 0;
  std::uint32_t rows = 0;
  // The sources come first: reading an element can run JavaScript (a getter), which could detach what was
  // looked up before.
  if (!ReadSources(env, args[2], &storage) ||
      !ReadWords(env, args[0], "table", napi_int32_array, &table, &table_words) ||
      !ReadWords(env, args[3], "indexOut", napi_uint32_array, &index_out, &index_words) ||
      !ReadUint32(env, args[1], "rows", 0, static_cast<std::uint32_t>(table_words / kAppendColumns), &rows)) {
    return nullptr;
  }
  const AppendResult result = storage.appender.Run(
      {static_cast<std::int32_t*>(table), rows, storage.sources.data(),
       static_cast<std::uint32_t>(storage.sources.size()), static_cast<std::uint32_t*>(index_out),
       static_cast<std::uint32_t>(index_words / kIndexOutColumns)});
  if (result.fault != TableFault::kNone) {
    ThrowFault(env, result);
    return nullptr;
  }
  return Number(env, result.index_rows);
}

napi_value MeasureRegionCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  Bytes source;
  std::uint32_t offset, bytes, format, room, max_payload;
  if (!ReadBytes(env, args[0], "source", &source) ||
      !ReadUint32(env, args[1], "offset", 0, UINT32_MAX, &offset) ||
      !ReadUint32(env, args[2], "bytes", 0, INT32_MAX, &bytes)) {
    return nullptr;
  }
  if (offset > source.count || bytes > source.count - offset) {
    ThrowRange(env, "the region lies outside its source");
    return nullptr;
  }
  // What the request says it has may be any int32; that it cannot be is what this call finds out.
  std::int64_t claimed;
  if (!ReadInteger(env, args[3], "records", INT32_MIN, INT32_MAX, &claimed) ||
      !ReadUint32(env, args[4], "format", 0, kRecordFormats - 1, &format) ||
      !ReadUint32(env, args[5], "room", 0, kSegmentBytesMax, &room) ||
      !ReadUint32(env, args[6], "maxPayload", 0, kSegmentBytesMax, &max_payload)) {
    return nullptr;
  }
  const RegionMeasure measure = MeasureRegion(source.data + offset, bytes, static_cast<std::int32_t>(claimed),
                                              *FindRecordFormat(format), room, max_payload);
  napi_value object = nullptr;
  napi_create_object(env, &object);
  SetProperty(env, object, "status", Number(env, static_cast<double>(measure.status)));
  SetProperty(env, object, "records", Number(env, measure.records));
  SetProperty(env, object, "regionBytes", Number(env, measure.wire_bytes));
  SetProperty(env, object, "storedBytes", Number(env, measure.stored_bytes));
  return object;
}

}  // namespace millrace
