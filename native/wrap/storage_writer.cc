// A writer is open, finishing (seal or close under way: nothing may be appended, forced or reserved any
// more), and closed. A seal that fails leaves it to be closed. One that is collected without either only lets
// go of its mapping, on a worker.

#include "wrap/storage_writer.h"

#include <algorithm>
#include <memory>
#include <string>

#include "core/fs_ops.h"
#include "wrap/async.h"
#include "wrap/file_ref.h"
#include "wrap/storage_file.h"
#include "wrap/wrapped.h"

namespace millrace {
namespace {

using WriterPtr = std::shared_ptr<SegmentWriter>;

enum class WriterState { kOpen, kFinishing, kUnsealed, kClosed };

/** What outlives the object while work of its is under way. */
struct WriterCore {
  WriterPtr writer;  // Null when closed.
  WriterState state = WriterState::kOpen;
  std::uint32_t end = 0;  // When closed.
  std::uint32_t reserved = 0;
};

struct WriterWrap {
  static constexpr napi_type_tag kTag{0x6d696c6c72616365, 0x7772697465720001};
  static constexpr const char* kName = "NativeSegmentWriter";
  std::shared_ptr<WriterCore> core;
  std::shared_ptr<StorageEnv> storage;
  std::int32_t id;

  ~WriterWrap() {
    storage->appender.writers().Remove(id);
    // Unmapping much takes long, and this runs in the collector. A seal or close under way still needs it,
    // and lets go itself.
    if (storage->env_data == nullptr || !core->writer || core->state == WriterState::kFinishing) return;
    storage->env_data->maintenance().Submit([last = std::move(core->writer)] {});
  }
};

WriterWrap* OpenWriter(const Args& args) {
  WriterWrap* wrap = Unwrap<WriterWrap>(args.env, args.self);
  if (wrap == nullptr || wrap->core->state == WriterState::kOpen) return wrap;
  ThrowClosed(args.env, "the segment writer is closed");
  return nullptr;
}

napi_value WrapWriter(napi_env env, WriterPtr writer) {
  EnvData* data = EnvData::Get(env);
  auto wrap = std::make_unique<WriterWrap>();
  wrap->storage = data->storage();
  wrap->core = std::make_shared<WriterCore>();
  wrap->id = data->storage()->appender.writers().Add(writer);
  const std::int32_t id = wrap->id;
  const FilePtr file = writer->file();
  wrap->core->writer = std::move(writer);
  const napi_value object = Wrap(env, data->storage()->writer_class, std::move(wrap));
  if (object == nullptr) return Undefined(env);
  const napi_property_descriptor constants[] = {
      {"id", nullptr, nullptr, nullptr, nullptr, Number(env, id), napi_enumerable, nullptr},
      {"file", nullptr, nullptr, nullptr, nullptr, WrapFile(env, file), napi_enumerable, nullptr},
  };
  napi_define_properties(env, object, 2, constants);
  return object;
}

bool ReadOptions(napi_env env, napi_value options, SegmentWriterConfig* config) {
  std::uint32_t mode;
  std::uint32_t format;
  const auto get = [&](const char* name) { return GetProperty(env, options, name); };
  if (!ReadObject(env, options, "options") || !ReadPath(env, get("path"), "path", &config->path) ||
      !ReadUint32(env, get("mode"), "mode", 0, kSegmentModes - 1, &mode) ||
      !ReadUint32(env, get("format"), "format", 0, kRecordFormats - 1, &format)) {
    return false;
  }
  const napi_value later = get("forceLater");
  if (!IsUndefined(env, later) && !ReadBool(env, later, "forceLater", &config->force_later)) return false;
  config->populator = EnvData::Get(env)->storage()->populator;
  config->mode = static_cast<SegmentMode>(mode);
  config->format = FindRecordFormat(format);
  // Room for one record at least.
  return ReadUint32(env, get("capacity"), "capacity", config->format->header_bytes + 1, kSegmentBytesMax,
                    &config->capacity) &&
         ReadUint32(env, get("indexIntervalBytes"), "indexIntervalBytes", 1, INT32_MAX,
                    &config->index_interval) &&
         ReadUint32(env, get("reserve"), "reserve", 0, config->capacity, &config->reserve);
}

template <typename Make>
napi_value MakeWriter(napi_env env, Make make) {
  EnvData* data = EnvData::Get(env);
  return RunAsync<WriterPtr>(
      data, data->maintenance(),
      [make](Outcome<WriterPtr>& outcome) { outcome.value = make(&outcome.error); },
      [](napi_env env, Outcome<WriterPtr>& outcome) {
        return outcome.error ? Undefined(env) : WrapWriter(env, std::move(outcome.value));
      });
}

napi_value End(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const WriterWrap* wrap = Unwrap<WriterWrap>(env, args.self);
  if (wrap == nullptr) return nullptr;
  return Number(env, wrap->core->writer ? wrap->core->writer->end() : wrap->core->end);
}

napi_value Reserved(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const WriterWrap* wrap = Unwrap<WriterWrap>(env, args.self);
  if (wrap == nullptr) return nullptr;
  return Number(env, wrap->core->writer ? wrap->core->writer->reserved() : wrap->core->reserved);
}

/** Wishes beyond the capacity are clamped to it, so any position will do. */
bool ReadUpTo(const Args& args, const SegmentWriter& writer, std::uint32_t* up_to) {
  std::int64_t wish;
  if (!ReadInteger(args.env, args[0], "upTo", 0, kPositionMax, &wish)) return false;
  *up_to = static_cast<std::uint32_t>(std::min<std::int64_t>(wish, writer.capacity()));
  return true;
}

napi_value Reserve(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const WriterWrap* wrap = OpenWriter(args);
  std::uint32_t up_to;
  bool filled = false;
  if (wrap == nullptr || !ReadUpTo(args, *wrap->core->writer, &up_to)) return nullptr;
  if (!IsUndefined(env, args[1]) && !ReadBool(env, args[1], "filled", &filled)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsyncNumber(data, data->maintenance(),
                        [writer = wrap->core->writer, up_to, filled](Outcome<double>& outcome) {
                          outcome.error = filled ? writer->ReserveFilled(up_to) : writer->Reserve(up_to);
                          outcome.value = writer->reserved();
                        });
}

napi_value Populate(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const WriterWrap* wrap = OpenWriter(args);
  std::uint32_t up_to;
  if (wrap == nullptr || !ReadUpTo(args, *wrap->core->writer, &up_to)) return nullptr;
  wrap->core->writer->Populate(up_to);
  return Undefined(env);
}

napi_value Barrier(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const WriterWrap* wrap = OpenWriter(args);
  if (wrap == nullptr) return nullptr;
  EnvData* data = EnvData::Get(env);
  // What is written when the barrier is asked for is what it covers.
  const std::uint32_t end = wrap->core->writer->end();
  return RunAsyncNumber(data, data->barriers(), [writer = wrap->core->writer, end](Outcome<double>& outcome) {
    outcome.error = writer->Force(end);
    outcome.value = end;
  });
}

napi_value Rename(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const WriterWrap* wrap = OpenWriter(args);
  std::string path;
  if (wrap == nullptr || !ReadPath(env, args[0], "path", &path)) return nullptr;
  EnvData* data = EnvData::Get(env);
  const WriterPtr writer = wrap->core->writer;
  return RunAsync<Nothing>(
      data, data->maintenance(),
      [from = writer->file()->path(), path](Outcome<Nothing>& outcome) {
        outcome.error = RenameFile(from, path);
      },
      [writer, path](napi_env env, Outcome<Nothing>& outcome) {
        if (!outcome.error) {
          writer->file()->set_path(path);
          writer->NameChanged(path);
        }
        return Undefined(env);
      });
}

/** Seal and close: the writer leaves the append table now, and its object keeps only the last numbers. */
template <typename Value, typename Result>
napi_value FinishWriter(napi_env env, WriterWrap* wrap, WorkerPool& pool, bool force, Result result) {
  const std::shared_ptr<WriterCore> core = wrap->core;
  core->state = WriterState::kFinishing;
  wrap->storage->appender.writers().Remove(wrap->id);
  return RunAsync<Value>(
      EnvData::Get(env), pool,
      [writer = core->writer, force](Outcome<Value>& outcome) { outcome.error = writer->Finish(force); },
      [core, force, result](napi_env env, Outcome<Value>& outcome) {
        core->end = core->writer->end();
        core->reserved = core->writer->reserved();
        if (force && outcome.error) {
          core->state = WriterState::kUnsealed;
        } else {
          core->state = WriterState::kClosed;
          core->writer = nullptr;
        }
        return result(env, core->end);
      });
}

napi_value Seal(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  WriterWrap* wrap = OpenWriter(args);
  if (wrap == nullptr) return nullptr;
  return FinishWriter<Nothing>(env, wrap, EnvData::Get(env)->barriers(), /*force=*/true,
                               [](napi_env env, std::uint32_t end) { return Number(env, end); });
}

napi_value Close(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  WriterWrap* wrap = Unwrap<WriterWrap>(env, args.self);
  if (wrap == nullptr) return nullptr;
  if (wrap->core->state == WriterState::kFinishing) {
    ThrowClosed(env, "the segment writer is being sealed or closed");
    return nullptr;
  }
  EnvData* data = EnvData::Get(env);
  if (wrap->core->state == WriterState::kClosed) {
    return RunAsync(data, data->maintenance(), [](Outcome<Nothing>&) {});
  }
  return FinishWriter<Nothing>(env, wrap, data->maintenance(), /*force=*/false,
                               [](napi_env env, std::uint32_t) { return Undefined(env); });
}

}  // namespace

void DefineWriterClass(napi_env env) {
  const napi_property_descriptor properties[] = {
      Getter("end", End),           Getter("reserved", Reserved), Method("reserve", Reserve),
      Method("populate", Populate), Method("barrier", Barrier),   Method("rename", Rename),
      Method("seal", Seal),         Method("close", Close),
  };
  EnvData::Get(env)->storage()->writer_class = DefineWrappedClass(env, WriterWrap::kName, properties);
}

napi_value CreateSegmentWriter(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SegmentWriterConfig config;
  if (!ReadOptions(env, args[0], &config)) return nullptr;
  return MakeWriter(env, [config](SysError* error) { return SegmentWriter::Create(config, error); });
}

napi_value OpenSegmentWriter(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SegmentWriterConfig config;
  std::uint32_t end;
  if (!ReadOptions(env, args[0], &config) ||
      !ReadUint32(env, GetProperty(env, args[0], "end"), "end", 0, config.capacity, &end)) {
    return nullptr;
  }
  return MakeWriter(env, [config, end](SysError* error) { return SegmentWriter::Open(config, end, error); });
}

}  // namespace millrace
