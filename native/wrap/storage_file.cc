// Arguments are checked here, what is done is in core/. Work on a pool keeps the file open by its own
// reference, so `close` may be called in the middle of it; bytes go to and fro by copy, because a buffer of
// JavaScript can be handed to somebody else while the work runs.

#include "wrap/storage_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/fs_ops.h"
#include "core/io.h"
#include "core/let_go.h"
#include "core/platform.h"
#include "core/segment_scan.h"
#include "core/stored_walk.h"
#include "wrap/async.h"
#include "wrap/file_ref.h"
#include "wrap/wrapped.h"

namespace millrace {
namespace {

struct FileWrap {
  static constexpr napi_type_tag kTag{0x6d696c6c72616365, 0x66696c6500000001};
  static constexpr const char* kName = "NativeFile";
  FilePtr file;  // Null when closed.
  std::string last_path;
};

FilePtr OpenedFile(const Args& args) {
  FileWrap* wrap = Unwrap<FileWrap>(args.env, args.self);
  if (wrap == nullptr) return nullptr;
  if (!wrap->file) ThrowClosed(args.env, "the file is closed: " + wrap->last_path);
  return wrap->file;
}

bool ReadFormat(napi_env env, napi_value value, const RecordFormat** format) {
  std::uint32_t id;
  if (!ReadUint32(env, value, "format", 0, kRecordFormats - 1, &id)) return false;
  *format = FindRecordFormat(id);
  return true;
}

bool ReadPosition(napi_env env, napi_value value, const char* name, std::int64_t* position) {
  return ReadInteger(env, value, name, 0, kPositionMax, position);
}

napi_value Path(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FileWrap* wrap = Unwrap<FileWrap>(env, args.self);
  if (wrap == nullptr) return nullptr;
  return String(env, wrap->file ? wrap->file->path() : wrap->last_path);
}

napi_value IsOpen(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FileWrap* wrap = Unwrap<FileWrap>(env, args.self);
  return wrap == nullptr ? nullptr : Boolean(env, wrap->file != nullptr);
}

napi_value Stat(napi_env env, napi_callback_info info, double (*pick)(const struct stat&)) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  if (!file) return nullptr;
  struct stat stat{};
  if (::fstat(file->fd(), &stat) == 0) return Number(env, pick(stat));
  napi_throw(env, MakeError(env, SysError::Last("fstat", file->path())));
  return nullptr;
}

napi_value Size(napi_env env, napi_callback_info info) {
  return Stat(env, info, [](const struct stat& stat) { return static_cast<double>(stat.st_size); });
}

napi_value AllocatedBytes(napi_env env, napi_callback_info info) {
  // The unit of st_blocks is 512 bytes whatever the file system's own blocks are.
  return Stat(env, info, [](const struct stat& stat) { return static_cast<double>(stat.st_blocks) * 512; });
}

napi_value Read(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  Bytes into;
  std::int64_t position;
  if (!file || !ReadBytes(env, args[0], "into", &into) ||
      !ReadPosition(env, args[1], "position", &position)) {
    return nullptr;
  }
  const ssize_t read = ReadAt(file->fd(), into.data, into.count, position);
  if (read >= 0) return Number(env, static_cast<double>(read));
  napi_throw(env, MakeError(env, SysError::Last("pread", file->path())));
  return nullptr;
}

napi_value ReadAsync(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  Bytes into;
  std::int64_t position;
  if (!file || !ReadBytes(env, args[0], "into", &into) ||
      !ReadPosition(env, args[1], "position", &position)) {
    return nullptr;
  }
  // The array is kept by reference, its memory is looked up again when the bytes are there.
  napi_ref target = nullptr;
  if (napi_create_reference(env, args[0], 1, &target) != napi_ok) return nullptr;
  EnvData* data = EnvData::Get(env);
  const std::size_t count = into.count;
  return RunAsync<std::vector<std::uint8_t>>(
      data, data->reads(),
      [file, path = file->path(), position, count](Outcome<std::vector<std::uint8_t>>& outcome) {
        outcome.value.resize(count);
        const ssize_t read = ReadAt(file->fd(), outcome.value.data(), count, position);
        if (read < 0) outcome.error = SysError::Last("pread", path);
        outcome.value.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
      },
      [target](napi_env env, Outcome<std::vector<std::uint8_t>>& outcome) {
        napi_value array = nullptr;
        void* memory = nullptr;
        std::size_t room = 0;
        napi_get_reference_value(env, target, &array);
        napi_get_typedarray_info(env, array, nullptr, &room, &memory, nullptr, nullptr);
        napi_delete_reference(env, target);
        // Detached or shrunk meanwhile: what does not fit any more was not read.
        const std::size_t taken = std::min(room, outcome.value.size());
        std::copy_n(outcome.value.data(), taken, static_cast<std::uint8_t*>(memory));
        return Number(env, static_cast<double>(taken));
      });
}

napi_value Write(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  Bytes from;
  std::int64_t position;
  bool sync;
  if (!file || !ReadBytes(env, args[0], "bytes", &from) ||
      !ReadPosition(env, args[1], "position", &position) || !ReadBool(env, args[2], "sync", &sync)) {
    return nullptr;
  }
  EnvData* data = EnvData::Get(env);
  return RunAsync(
      data, data->maintenance(),
      [file, path = file->path(), bytes = std::vector<std::uint8_t>(from.data, from.data + from.count),
       position, sync](Outcome<Nothing>& outcome) {
        int code = WriteAt(file->fd(), bytes.data(), bytes.size(), position);
        if (code != 0) {
          outcome.error = {code, "pwrite", path};
        } else if (sync) {
          code = ForceFileData(file->fd());
          if (code != 0) outcome.error = {code, "fdatasync", path};
        }
      });
}

struct WalkArguments {
  const RecordFormat* format;
  std::int64_t from;
  std::int64_t records;
  std::int64_t limit;
};

bool ReadWalkArguments(const Args& args, WalkArguments* walk) {
  return ReadFormat(args.env, args[0], &walk->format) &&
         ReadPosition(args.env, args[1], "from", &walk->from) &&
         ReadPosition(args.env, args[2], "records", &walk->records) &&
         ReadPosition(args.env, args[3], "limit", &walk->limit);
}

constexpr double kLimitFirst = -1;
constexpr double kNotCached = -2;

double WalkNumber(const WalkResult& result) {
  switch (result.outcome) {
    case WalkOutcome::kFound:
      return static_cast<double>(result.position);
    case WalkOutcome::kNotCached:
      return kNotCached;
    case WalkOutcome::kEnded:
    case WalkOutcome::kFailed:
      break;
  }
  return kLimitFirst;
}

napi_value Walk(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  WalkArguments walk;
  std::int64_t likely;
  if (!file || !ReadWalkArguments(args, &walk) || !ReadPosition(args.env, args[4], "likelyBytes", &likely)) {
    return nullptr;
  }
  const WalkResult result =
      WalkStored(file->fd(), *walk.format, walk.from, static_cast<std::uint64_t>(walk.records), walk.limit,
                 /*wait=*/false, likely);
  if (result.outcome != WalkOutcome::kFailed) return Number(env, WalkNumber(result));
  napi_throw(env, MakeError(env, SysError::Last("preadv2", file->path())));
  return nullptr;
}

napi_value WalkAsync(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  WalkArguments walk;
  if (!file || !ReadWalkArguments(args, &walk)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsyncNumber(data, data->reads(), [file, path = file->path(), walk](Outcome<double>& outcome) {
    const WalkResult result = WalkStored(file->fd(), *walk.format, walk.from,
                                         static_cast<std::uint64_t>(walk.records), walk.limit, /*wait=*/true);
    if (result.outcome == WalkOutcome::kFailed) outcome.error = SysError::Last("pread", path);
    outcome.value = WalkNumber(result);
  });
}

napi_value ScanObject(napi_env env, const ScanResult& scan) {
  napi_value object = nullptr;
  napi_value buffer = nullptr;
  napi_value index = nullptr;
  void* memory = nullptr;
  napi_create_object(env, &object);
  const std::size_t bytes = scan.index.size() * sizeof(std::uint32_t);
  if (napi_create_arraybuffer(env, bytes, &memory, &buffer) != napi_ok) return Undefined(env);
  std::copy_n(scan.index.data(), scan.index.size(), static_cast<std::uint32_t*>(memory));
  napi_create_typedarray(env, napi_uint32_array, scan.index.size(), buffer, 0, &index);
  SetProperty(env, object, "stop", Number(env, static_cast<double>(scan.stop)));
  SetProperty(env, object, "records", Number(env, static_cast<double>(scan.records)));
  SetProperty(env, object, "end", Number(env, static_cast<double>(scan.end)));
  SetProperty(env, object, "tailBytes", Number(env, static_cast<double>(scan.tail_bytes)));
  SetProperty(env, object, "index", index);
  return object;
}

napi_value Scan(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  const RecordFormat* format;
  std::int64_t from;
  std::int64_t limit;
  std::uint32_t interval;
  // Positions in the index are 32 bits wide, which every segment's are.
  if (!file || !ReadFormat(env, args[0], &format) ||
      !ReadInteger(env, args[1], "from", 0, UINT32_MAX, &from) ||
      !ReadInteger(env, args[2], "limit", 0, UINT32_MAX, &limit) ||
      !ReadUint32(env, args[3], "indexIntervalBytes", 1, INT32_MAX, &interval)) {
    return nullptr;
  }
  EnvData* data = EnvData::Get(env);
  return RunAsync<ScanResult>(
      data, data->maintenance(),
      [file, path = file->path(), format, from, limit, interval](Outcome<ScanResult>& outcome) {
        const int code = ScanSegment(file->fd(), *format, from, limit, interval, &outcome.value);
        if (code != 0) outcome.error = {code, "pread", path};
      },
      [](napi_env env, Outcome<ScanResult>& outcome) { return ScanObject(env, outcome.value); });
}

napi_value Sync(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  if (!file) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(data, data->barriers(), [file, path = file->path()](Outcome<Nothing>& outcome) {
    const int code = ForceFile(file->fd());
    if (code != 0) outcome.error = {code, "fsync", path};
  });
}

napi_value DropCache(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  std::int64_t from;
  if (!file || !ReadPosition(env, args[0], "from", &from)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(data, data->maintenance(), [file, path = file->path(), from](Outcome<Nothing>& outcome) {
    if (platform::DropCache(file->fd(), from) != 0) outcome.error = SysError::Last("posix_fadvise", path);
  });
}

napi_value Truncate(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  const FilePtr file = OpenedFile(args);
  std::int64_t size;
  if (!file || !ReadPosition(env, args[0], "size", &size)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(data, data->maintenance(), [file, path = file->path(), size](Outcome<Nothing>& outcome) {
    outcome.error = TruncateFile(*file, path, size);
  });
}

napi_value Close(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  FileWrap* wrap = Unwrap<FileWrap>(env, args.self);
  if (wrap == nullptr) return nullptr;
  if (wrap->file) wrap->last_path = wrap->file->path();
  LetGo(std::move(wrap->file), EnvData::Get(env)->maintenance());
  wrap->file = nullptr;
  return Undefined(env);
}

}  // namespace

void DefineFileClass(napi_env env) {
  const napi_property_descriptor properties[] = {
      Getter("path", Path),           Getter("isOpen", IsOpen),
      Method("size", Size),           Method("allocatedBytes", AllocatedBytes),
      Method("read", Read),           Method("readAsync", ReadAsync),
      Method("write", Write),         Method("walk", Walk),
      Method("walkAsync", WalkAsync), Method("scan", Scan),
      Method("sync", Sync),           Method("dropCache", DropCache),
      Method("truncate", Truncate),   Method("close", Close),
  };
  EnvData::Get(env)->storage()->file_class = DefineWrappedClass(env, FileWrap::kName, properties);
}

napi_value WrapFile(napi_env env, FilePtr file) {
  auto wrap = std::make_unique<FileWrap>();
  wrap->file = std::move(file);
  return Wrap(env, EnvData::Get(env)->storage()->file_class, std::move(wrap));
}

FilePtr FileFromValue(napi_env env, napi_value value) {
  const FileWrap* wrap = TryUnwrap<FileWrap>(env, value);
  return wrap == nullptr ? nullptr : wrap->file;
}

}  // namespace millrace
