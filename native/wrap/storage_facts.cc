// The table of `abi()` is written out: its names are those of binding.ts, so that a number that was changed
// on one side only, or forgotten on one, shows in the test that compares them.

#include "wrap/storage_facts.h"

#include <string>

#include "core/abi.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/platform.h"
#include "core/selector_abi.h"
#include "wrap/args.h"
#include "wrap/env.h"

namespace millrace {
namespace {

struct NamedNumber {
  const char* name;
  double value;
};

template <typename Enum>
constexpr double Value(Enum value) {
  return static_cast<double>(value);
}

template <std::size_t kCount>
void AddGroup(napi_env env, napi_value table, const char* name, const NamedNumber (&numbers)[kCount]) {
  napi_value group = nullptr;
  napi_create_object(env, &group);
  for (const NamedNumber& number : numbers) SetProperty(env, group, number.name, Number(env, number.value));
  SetProperty(env, table, name, group);
}

void AddStorageAbi(napi_env env, napi_value table) {
  AddGroup(env, table, "SegmentModeId",
           {{"FILE_CHANNEL", Value(SegmentMode::kFileChannel)}, {"MAPPED", Value(SegmentMode::kMapped)}});
  AddGroup(env, table, "RecordFormatId",
           {{"plain", Value(RecordFormatId::kPlain)}, {"crc32c", Value(RecordFormatId::kCrc32c)}});
  AddGroup(env, table, "ScanStop",
           {{"END", Value(ScanStop::kEnd)},
            {"ZERO_PREFIX", Value(ScanStop::kZeroPrefix)},
            {"TORN", Value(ScanStop::kTorn)},
            {"BAD_LENGTH", Value(ScanStop::kBadLength)},
            {"BAD_SUM", Value(ScanStop::kBadSum)}});
  AddGroup(env, table, "AppendStatus",
           {{"OK", Value(AppendStatus::kOk)},
            {"CORRUPT", Value(AppendStatus::kCorrupt)},
            {"TOO_LARGE", Value(AppendStatus::kTooLarge)},
            {"NO_ROOM", Value(AppendStatus::kNoRoom)},
            {"IO_ERROR", Value(AppendStatus::kIoError)}});
  AddGroup(env, table, "AppendColumn",
           {{"WRITER", append_column::kWriter},
            {"SOURCE", append_column::kSource},
            {"OFFSET", append_column::kOffset},
            {"BYTES", append_column::kBytes},
            {"RECORDS", append_column::kRecords},
            {"STATUS", append_column::kStatus},
            {"END", append_column::kEnd},
            {"ERRNO", append_column::kErrno}});
  AddGroup(env, table, "WalkStop",
           {{"FULL", Value(WalkStop::kFull)},
            {"END", Value(WalkStop::kEnd)},
            {"CUT", Value(WalkStop::kCut)},
            {"BAD_LENGTH", Value(WalkStop::kBadLength)},
            {"BAD_SUM", Value(WalkStop::kBadSum)}});
  AddGroup(env, table, "WalkColumn",
           {{"RECORDS", walk_column::kRecords},
            {"STOP", walk_column::kStop},
            {"POSITION", walk_column::kPosition},
            {"CUT_RECORD_BYTES", walk_column::kCutRecordBytes}});
}

void AddSelectorAbi(napi_env env, napi_value table) {
  AddGroup(env, table, "FrameColumn",
           {{"CONNECTION", frame_column::kConnection},
            {"OFFSET", frame_column::kOffset},
            {"LENGTH", frame_column::kLength}});
  AddGroup(env, table, "FlushColumn",
           {{"CONNECTION", flush_column::kConnection},
            {"OFFSET", flush_column::kOffset},
            {"LENGTH", flush_column::kLength},
            {"COMPLETED", flush_column::kCompleted},
            {"FILE", flush_column::kFile},
            {"POSITION", flush_column::kPosition},
            {"SLICE_BYTES", flush_column::kSliceBytes},
            {"HEAD", flush_column::kHead},
            {"INSTEAD", flush_column::kInstead},
            {"CONTINUES", flush_column::kContinues}});
  AddGroup(env, table, "CloseReason",
           {{"PEER", Value(CloseReason::kPeer)},
            {"BAD_FRAME_LENGTH", Value(CloseReason::kBadFrameLength)},
            {"FRAME_TIMEOUT", Value(CloseReason::kFrameTimeout)},
            {"WRITE_STALL", Value(CloseReason::kWriteStall)},
            {"IDLE", Value(CloseReason::kIdle)},
            {"SOCKET_ERROR", Value(CloseReason::kSocketError)},
            {"LOCAL", Value(CloseReason::kLocal)},
            {"FILE_SHORT", Value(CloseReason::kFileShort)},
            {"FILE_ERROR", Value(CloseReason::kFileError)},
            {"INPUT_ENDED", Value(CloseReason::kInputEnded)},
            {"SHED", Value(CloseReason::kShed)}});
  AddGroup(env, table, "SelectorCounter",
           {{"EXTERNAL_QUEUED_BYTES", selector_counter::kExternalQueuedBytes},
            {"GATHERED_BYTES", selector_counter::kGatheredBytes},
            {"OUTPUT_BYTES", selector_counter::kOutputBytes},
            {"CONNECTIONS", selector_counter::kConnections},
            {"ACCEPTED", selector_counter::kAccepted},
            {"BYTES_IN", selector_counter::kBytesIn},
            {"BYTES_OUT", selector_counter::kBytesOut},
            {"SENDFILE_CALLS", selector_counter::kSendfileCalls},
            {"SENDFILE_BYTES", selector_counter::kSendfileBytes},
            {"HEAP_BYTES", selector_counter::kHeapBytes},
            {"COLD_READS", selector_counter::kColdReads},
            {"PAUSES", selector_counter::kPauses},
            {"LISTENER_PAUSES", selector_counter::kListenerPauses},
            {"TURNS", selector_counter::kTurns},
            {"LONGEST_TURN_US", selector_counter::kLongestTurnUs},
            {"FILE_FAILURES", selector_counter::kFileFailures},
            {"SHED", selector_counter::kShed},
            {"EXTERNAL_WAITING_BYTES", selector_counter::kExternalWaitingBytes}});
}

napi_value Abi(napi_env env, napi_callback_info) {
  napi_value table = nullptr;
  napi_create_object(env, &table);
  AddStorageAbi(env, table);
  AddSelectorAbi(env, table);
  AddGroup(env, table, "constants",
           {{"APPEND_COLUMNS", kAppendColumns},
            {"INDEX_OUT_COLUMNS", kIndexOutColumns},
            {"WALK_COLUMNS", kWalkColumns},
            {"FRAME_COLUMNS", kFrameColumns},
            {"FLUSH_COLUMNS", kFlushColumns},
            {"SELECTOR_COUNTERS", kSelectorCounters}});
  return table;
}

napi_value Crc32cCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  Bytes bytes;
  if (!ReadBytes(env, args[0], "bytes", &bytes)) return nullptr;
  const Crc32c* chosen = &ActiveCrc32c();
  if (!IsUndefined(env, args[1])) {
    std::string name;
    if (!ReadPath(env, args[1], "kind", &name)) return nullptr;
    chosen = nullptr;
    for (const Crc32c* kind : kCrc32cTable) {
      if (kind->name == name && kind->supported()) chosen = kind;
    }
    if (chosen == nullptr) {
      ThrowRange(env, "this processor has no CRC-32C of kind " + name);
      return nullptr;
    }
  }
  return Number(env, chosen->extend(0, bytes.data, bytes.count));
}

napi_value SupportedKinds(napi_env env) {
  napi_value kinds = nullptr;
  napi_create_array(env, &kinds);
  std::uint32_t count = 0;
  for (const Crc32c* kind : kCrc32cTable) {
    if (kind->supported()) napi_set_element(env, kinds, count++, String(env, kind->name));
  }
  return kinds;
}

napi_value BarrierCountCall(napi_env env, napi_callback_info) {
  return Number(env, static_cast<double>(BarrierCount()));
}

napi_value ConfigurePools(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  if (!ReadObject(env, args[0], "options")) return nullptr;
  EnvData* data = EnvData::Get(env);
  // More threads than this is a mistake: each is a stack and, while it waits for a disk, nothing else.
  constexpr std::uint32_t kThreadsMax = 256;
  struct Wish {
    const char* name;
    WorkerPool& pool;
    std::uint32_t threads;
  } wishes[] = {{"barriers", data->barriers(), 0},
                {"reads", data->reads(), 0},
                {"maintenance", data->maintenance(), 0}};
  for (Wish& wish : wishes) {
    const napi_value value = GetProperty(env, args[0], wish.name);
    if (!IsUndefined(env, value) && !ReadUint32(env, value, wish.name, 1, kThreadsMax, &wish.threads))
      return nullptr;
  }
  for (const Wish& wish : wishes) {
    if (wish.threads > 0) wish.pool.set_limit(wish.threads);
  }
  return Undefined(env);
}

}  // namespace

void ExportFacts(napi_env env, napi_value exports) {
  SetProperty(env, exports, "platform", String(env, platform::Name()));
  SetProperty(env, exports, "crc32cKind", String(env, ActiveCrc32c().name));
  SetProperty(env, exports, "crc32cKinds", SupportedKinds(env));
  SetFunction(env, exports, "crc32c", Crc32cCall);
  SetFunction(env, exports, "abi", Abi);
  SetFunction(env, exports, "barrierCount", BarrierCountCall);
  SetFunction(env, exports, "configurePools", ConfigurePools);
}

}  // namespace millrace
