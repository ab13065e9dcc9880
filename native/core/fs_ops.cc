// Each of these can block on a disk and runs on a worker, apart from the limit.

#include "core/fs_ops.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/io.h"
#include "core/platform.h"

namespace millrace {
namespace {

Fd Open(const std::string& path, int flags) {
  for (;;) {
    const int fd = platform::Open(path.c_str(), flags);
    if (fd >= 0 || errno != EINTR) return Fd(fd);
  }
}

std::string DirectoryOf(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

SysError WriteForced(const std::string& path, const std::uint8_t* bytes, std::size_t count) {
  const Fd fd = Open(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd.valid()) return SysError::Last("open", path);
  if (const int code = WriteAt(fd.get(), bytes, count, 0)) return {code, "write", path};
  if (const int code = ForceFile(fd.get())) return {code, "fsync", path};
  return {};
}

}  // namespace

FilePtr OpenFile(const std::string& path, bool writable, bool create, SysError* error) {
  Fd fd = Open(path, (writable ? O_RDWR : O_RDONLY) | (create ? O_CREAT : 0));
  if (!fd.valid()) {
    *error = SysError::Last("open", path);
    return nullptr;
  }
  return std::make_shared<File>(std::move(fd), path);
}

SysError RenameFile(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return SysError::Last("rename", from);
  return {};
}

SysError UnlinkFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return SysError::Last("unlink", path);
  return {};
}

SysError SyncDirectory(const std::string& path) {
  const Fd fd = Open(path, O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return SysError::Last("open", path);
  if (const int code = ForceFile(fd.get())) return {code, "fsync", path};
  return {};
}

SysError ReplaceFile(const std::string& path, const std::uint8_t* bytes, std::size_t count) {
  const std::string temporary = path + ".tmp";
  SysError error = WriteForced(temporary, bytes, count);
  if (!error) error = RenameFile(temporary, path);
  if (error) {
    ::unlink(temporary.c_str());
    return error;
  }
  return SyncDirectory(DirectoryOf(path));
}

SysError TruncateFile(const File& file, const std::string& path, std::int64_t size) {
  if (const int code = ResizeFile(file.fd(), size)) return {code, "ftruncate", path};
  return {};
}

SysError FreeBytes(const std::string& path, std::uint64_t* bytes) {
  struct statvfs stat{};
  if (::statvfs(path.c_str(), &stat) != 0) return SysError::Last("statvfs", path);
  *bytes = static_cast<std::uint64_t>(stat.f_bavail) * stat.f_frsize;
  return {};
}

std::uint64_t OpenFilesLimit() {
  struct rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::uint64_t>(limit.rlim_cur) : 0;
}

}  // namespace millrace
