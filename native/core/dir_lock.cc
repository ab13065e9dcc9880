// The file stays when the lock is released: removing it would let two processes hold locks on two files of
// the same name.

#include "core/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/io.h"

namespace millrace {
namespace {

pid_t ReadPid(int fd) {
  char text[32] = {};
  if (ReadAt(fd, text, sizeof text - 1, 0) <= 0) return 0;
  const long pid = std::strtol(text, nullptr, 10);
  return pid > 0 ? static_cast<pid_t>(pid) : 0;
}

/** Whether the locked file is still the one of that name. Somebody may have removed it between our open and
 * our lock. */
bool StillThere(int fd, const std::string& path) {
  struct stat ours{}, named{};
  return ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

}  // namespace

DirLockResult TakeDirLock(const std::string& path) {
  DirLockResult result;
  for (;;) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd.valid()) {
      if (errno == EINTR) continue;
      result.error = SysError::Last("open", path);
      return result;
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) {
        result.held = true;
        result.holder = ReadPid(fd.get());
      } else {
        result.error = SysError::Last("flock", path);
      }
      return result;
    }
    if (!StillThere(fd.get(), path)) continue;
    char text[32];
    const int length = std::snprintf(text, sizeof text, "%ld\n", static_cast<long>(::getpid()));
    int code = ResizeFile(fd.get(), 0);
    if (code == 0) code = WriteAt(fd.get(), text, static_cast<std::size_t>(length), 0);
    if (code != 0) {
      result.error = {code, "write", path};
      return result;
    }
    result.fd = std::move(fd);
    return result;
  }
}

}  // namespace millrace
