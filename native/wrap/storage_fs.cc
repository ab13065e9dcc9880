// What can block on a disk returns a promise. The lock does not: it is taken once, at the start.

#include "wrap/storage_fs.h"

#include <string>
#include <vector>

#include "core/dir_lock.h"
#include "core/fs_ops.h"
#include "core/platform.h"
#include "wrap/async.h"
#include "wrap/storage_file.h"
#include "wrap/wrapped.h"

namespace millrace {
namespace {

struct LockWrap {
  static constexpr napi_type_tag kTag{0x6d696c6c72616365, 0x6c6f636b00000001};
  static constexpr const char* kName = "DirectoryLock";
  Fd fd;
};

napi_value OpenFileCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  bool writable;
  bool create = false;
  if (!ReadPath(env, args[0], "path", &path) || !ReadObject(env, args[1], "options") ||
      !ReadBool(env, GetProperty(env, args[1], "writable"), "writable", &writable)) {
    return nullptr;
  }
  const napi_value wish = GetProperty(env, args[1], "create");
  if (!IsUndefined(env, wish) && !ReadBool(env, wish, "create", &create)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync<FilePtr>(
      data, data->maintenance(),
      [path, writable, create](Outcome<FilePtr>& outcome) {
        outcome.value = OpenFile(path, writable, create, &outcome.error);
      },
      [](napi_env env, Outcome<FilePtr>& outcome) {
        return outcome.error ? Undefined(env) : WrapFile(env, std::move(outcome.value));
      });
}

napi_value RenameCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string from;
  std::string to;
  if (!ReadPath(env, args[0], "from", &from) || !ReadPath(env, args[1], "to", &to)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(data, data->maintenance(),
                  [from, to](Outcome<Nothing>& outcome) { outcome.error = RenameFile(from, to); });
}

napi_value UnlinkCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  if (!ReadPath(env, args[0], "path", &path)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(data, data->maintenance(),
                  [path](Outcome<Nothing>& outcome) { outcome.error = UnlinkFile(path); });
}

napi_value SyncDirectoryCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  if (!ReadPath(env, args[0], "path", &path)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(data, data->barriers(),
                  [path](Outcome<Nothing>& outcome) { outcome.error = SyncDirectory(path); });
}

napi_value ReplaceFileCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  Bytes bytes;
  if (!ReadPath(env, args[0], "path", &path) || !ReadBytes(env, args[1], "bytes", &bytes)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsync(
      data, data->maintenance(),
      [path, copy = std::vector<std::uint8_t>(bytes.data, bytes.data + bytes.count)](
          Outcome<Nothing>& outcome) { outcome.error = ReplaceFile(path, copy.data(), copy.size()); });
}

napi_value FreeBytesCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  if (!ReadPath(env, args[0], "path", &path)) return nullptr;
  EnvData* data = EnvData::Get(env);
  return RunAsyncNumber(data, data->maintenance(), [path](Outcome<double>& outcome) {
    std::uint64_t bytes = 0;
    outcome.error = FreeBytes(path, &bytes);
    outcome.value = static_cast<double>(bytes);
  });
}

napi_value LockFileCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  if (!ReadPath(env, args[0], "path", &path)) return nullptr;
  DirLockResult result = TakeDirLock(path);
  if (result.held) {
    const std::string holder = result.holder > 0 ? " by process " + std::to_string(result.holder) : "";
    napi_value error = nullptr;
    napi_create_error(env, String(env, "ELOCKED"), String(env, "ELOCKED: '" + path + "' is held" + holder),
                      &error);
    SetProperty(env, error, "path", String(env, path));
    if (result.holder > 0) SetProperty(env, error, "pid", Number(env, result.holder));
    napi_throw(env, error);
    return nullptr;
  }
  if (result.error) {
    napi_throw(env, MakeError(env, result.error));
    return nullptr;
  }
  auto lock = std::make_unique<LockWrap>();
  lock->fd = std::move(result.fd);
  return Wrap(env, EnvData::Get(env)->storage()->lock_class, std::move(lock));
}

napi_value Release(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  LockWrap* lock = Unwrap<LockWrap>(env, args.self);
  if (lock == nullptr) return nullptr;
  lock->fd.Reset();
  return Undefined(env);
}

napi_value IsMemoryFileSystemCall(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  std::string path;
  if (!ReadPath(env, args[0], "path", &path)) return nullptr;
  const int memory = platform::IsMemoryFileSystem(path.c_str());
  if (memory >= 0) return Boolean(env, memory == 1);
  napi_throw(env, MakeError(env, SysError::Last("statfs", path)));
  return nullptr;
}

napi_value OpenFilesLimitCall(napi_env env, napi_callback_info) {
  return Number(env, static_cast<double>(OpenFilesLimit()));
}

}  // namespace

void ExportFileSystem(napi_env env, napi_value exports) {
  const napi_property_descriptor properties[] = {Method("release", Release)};
  EnvData::Get(env)->storage()->lock_class = DefineWrappedClass(env, LockWrap::kName, properties);
  SetFunction(env, exports, "openFile", OpenFileCall);
  SetFunction(env, exports, "renameFile", RenameCall);
  SetFunction(env, exports, "unlinkFile", UnlinkCall);
  SetFunction(env, exports, "syncDirectory", SyncDirectoryCall);
  SetFunction(env, exports, "replaceFile", ReplaceFileCall);
  SetFunction(env, exports, "freeBytes", FreeBytesCall);
  SetFunction(env, exports, "lockFile", LockFileCall);
  SetFunction(env, exports, "isMemoryFileSystem", IsMemoryFileSystemCall);
  SetFunction(env, exports, "openFilesLimit", OpenFilesLimitCall);
}

}  // namespace millrace
