// Checks every option for type and range, and that the tables are large enough for a turn to make progress.

#include "wrap/selector_options.h"

#include <string>

#include "wrap/args.h"

namespace millrace {

namespace {

struct ArraySpec {
  const char* name;
  napi_typedarray_type type;
  const char* type_name;
  /** In elements. */
  std::size_t smallest;
};

constexpr ArraySpec kArrays[kPinnedCount] = {
    {"arena", napi_uint8_array, "Uint8Array", 1},
    {"replies", napi_uint8_array, "Uint8Array", 1},
    {"frames", napi_int32_array, "Int32Array", kFrameColumns},
    {"opened", napi_int32_array, "Int32Array", 1},
    {"closed", napi_int32_array, "Int32Array", 2},
    {"flushes", napi_int32_array, "Int32Array", kFlushColumns},
    {"counters", napi_float64_array, "Float64Array", kSelectorCounters},
};

// Offsets into the arenas cross the boundary as int32.
constexpr std::size_t kArenaMax = (std::size_t{1} << 31) - 1;
constexpr std::int64_t kMsMax = std::int64_t{1} << 40;

bool Pin(napi_env env, napi_value options, const ArraySpec& spec, PinnedArray* pinned) {
  const napi_value value = GetProperty(env, options, spec.name);
  napi_typedarray_type type;
  if (value == nullptr ||
      napi_get_typedarray_info(env, value, &type, &pinned->length, &pinned->data, nullptr, nullptr) !=
          napi_ok ||
      type != spec.type) {
    ThrowType(env, std::string(spec.name) + " must be a " + spec.type_name);
    return false;
  }
  if (pinned->length < spec.smallest || pinned->length > kArenaMax) {  // a detached one has length 0
    ThrowRange(env, std::string(spec.name) + " must have " + std::to_string(spec.smallest) + " to " +
                        std::to_string(kArenaMax) + " elements");
    return false;
  }
  return napi_create_reference(env, value, 1, &pinned->reference) == napi_ok;
}

}  // namespace

bool PinnedArray::StillThere(napi_env env) const {
  napi_value value = nullptr;
  void* data_now = nullptr;
  std::size_t length_now = 0;
  return napi_get_reference_value(env, reference, &value) == napi_ok && value != nullptr &&
         napi_get_typedarray_info(env, value, nullptr, &length_now, &data_now, nullptr, nullptr) == napi_ok &&
         data_now == data && length_now == length;
}

bool SelectorSetup::Read(napi_env env, napi_value value) {
  if (!ReadObject(env, value, "options")) return false;
  const auto integer = [&](const char* name, std::int64_t min, std::int64_t max, auto* out) {
    std::int64_t number = 0;
    if (!ReadInteger(env, GetProperty(env, value, name), name, min, max, &number)) return false;
    *out = static_cast<std::remove_reference_t<decltype(*out)>>(number);
    return true;
  };
  for (int i = 0; i < kPinnedCount; i++) {
    if (!Pin(env, value, kArrays[i], &pinned[i])) return false;
  }
  SelectorOptions& o = options;
  if (!integer("maxFrameBytes", 1, 1 << 30, &o.max_frame_bytes) ||
      !integer("connectionsMax", 1, kSlotsMax, &o.connections_max) ||
      !integer("requestsMax", 1, kRequestsLimit, &o.requests_max) ||
      !integer("turnBytesIn", 1, 1 << 30, &o.turn_bytes_in) ||
      !integer("turnBytesOut", 1, kPositionMax, &o.turn_bytes_out) ||
      !integer("queuedBytesMax", 1, kPositionMax, &o.queued_bytes_max) ||
      !integer("connectionQueuedBytesMax", 1, kPositionMax, &o.connection_queued_bytes_max) ||
      !integer("frameTimeoutMs", 1, kMsMax, &o.frame_timeout_ms) ||
      !integer("writeStallMs", 1, kMsMax, &o.write_stall_ms) || !integer("idleMs", 0, kMsMax, &o.idle_ms) ||
      !ReadBool(env, GetProperty(env, value, "zeroCopy"), "zeroCopy", &o.zero_copy)) {
    return false;
  }

  const auto rows = [&](PinnedIndex which, std::uint32_t columns) {
    return static_cast<std::uint32_t>(pinned[which].length / columns);
  };
  tables.arena = static_cast<std::uint8_t*>(pinned[kArena].data);
  tables.arena_bytes = pinned[kArena].length;
  tables.replies = static_cast<std::uint8_t*>(pinned[kReplies].data);
  tables.replies_bytes = pinned[kReplies].length;
  tables.frames = static_cast<std::int32_t*>(pinned[kFrames].data);
  tables.frames_max = rows(kFrames, kFrameColumns);
  tables.opened = static_cast<std::int32_t*>(pinned[kOpened].data);
  tables.opened_max = rows(kOpened, 1);
  tables.closed = static_cast<std::int32_t*>(pinned[kClosed].data);
  tables.closed_max = rows(kClosed, 2);
  tables.flushes = static_cast<std::int32_t*>(pinned[kFlushes].data);
  tables.flushes_max = rows(kFlushes, kFlushColumns);
  tables.counters = static_cast<double*>(pinned[kCounters].data);

  // The beginning of the largest frame and what a turn brings must fit at once, or that frame would never be
  // complete.
  const std::size_t needed = std::size_t{o.max_frame_bytes} + kFramePrefixBytes + o.turn_bytes_in;
  if (tables.arena_bytes < needed) {
    ThrowRange(env, "arena must have at least maxFrameBytes + 4 + turnBytesIn bytes (" +
                        std::to_string(needed) + "), it has " + std::to_string(tables.arena_bytes));
    return false;
  }
  return true;
}

void SelectorSetup::Unpin(napi_env env) {
  for (PinnedArray& array : pinned) {
    if (array.reference != nullptr) napi_delete_reference(env, array.reference);
    array.reference = nullptr;
  }
}

}  // namespace millrace
