// A file on a disk for tests, full of a pattern that tells every position from its neighbours. Removed with
// the object.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"

namespace millrace {

inline std::uint8_t PatternAt(std::size_t position) {
  return static_cast<std::uint8_t>(position * 131 + (position >> 8) * 7 + (position >> 16));
}

class ScratchFile {
 public:
  explicit ScratchFile(std::size_t bytes) {
    const char* const asked = getenv("MILLRACE_TEST_DIR");
    path_ = std::string(asked != nullptr ? asked : "/var/tmp") + "/millrace-native-XXXXXX";
    Fd fd(mkstemp(path_.data()));
    std::vector<std::uint8_t> contents(bytes);
    for (std::size_t i = 0; i < bytes; i++) contents[i] = PatternAt(i);
    (void)!write(fd.get(), contents.data(), bytes);
    file_ = std::make_shared<File>(std::move(fd), path_);
  }
  ~ScratchFile() { unlink(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const FilePtr& file() const { return file_; }
  const std::string& path() const { return path_; }
  void DropFromCache() const {
    fsync(file_->fd());
#ifdef POSIX_FADV_DONTNEED
    posix_fadvise(file_->fd(), 0, 0, POSIX_FADV_DONTNEED);
#endif
  }

 private:
  std::string path_;
  FilePtr file_;
};

}  // namespace millrace
