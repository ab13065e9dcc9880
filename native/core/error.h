// A failed system call: which one, and the errno. `code == 0` is success. Exceptions are off in the whole
// addon.
#pragma once

#include <cerrno>
#include <string>

namespace millrace {

struct SysError {
  int code = 0;
  const char* syscall = "";
  std::string path;

  explicit operator bool() const { return code != 0; }
  static SysError Last(const char* syscall, std::string path = {}) {
    return {errno, syscall, std::move(path)};
  }
};

}  // namespace millrace
