// A file of a partition, shared by reference: segment writers, readers and slices in output queues each hold
// it, and the descriptor closes when the last one lets go. That is what makes removing a segment harmless to
// a reader in the middle.
#pragma once

#include <memory>
#include <string>

#include "core/error.h"
#include "core/fd.h"

namespace millrace {

class File {
 public:
  File(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  /** Only the name changes; a rename does not move the descriptor. Loop thread only. */
  void set_path(std::string path) { path_ = std::move(path); }

 private:
  Fd fd_;
  std::string path_;
};

using FilePtr = std::shared_ptr<File>;

}  // namespace millrace
