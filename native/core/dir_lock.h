// A lock file that one process holds: flock on it, its pid in it. The kernel lets go when the process dies,
// however it dies.
#pragma once

#include <sys/types.h>

#include <string>

#include "core/error.h"
#include "core/fd.h"

namespace millrace {

struct DirLockResult {
  Fd fd;              // Valid: the lock is held until it closes.
  bool held = false;  // By somebody else, …
  pid_t holder = 0;   // … whose pid this is; 0 when the file does not say.
  SysError error;
};

DirLockResult TakeDirLock(const std::string& path);

}  // namespace millrace
