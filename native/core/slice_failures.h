// What slices could not be read, kept until whoever drives the selector asks. So many at most: a disk that
// fails does it for every reader, and each of them asks again.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace millrace {

struct SliceFailure {
  /** Instead of an errno: the file ended before the slice did. */
  static constexpr int kFileEnded = -1;

  std::string path;
  off_t position;
  /** What was still to be sent of the slice. */
  std::size_t bytes;
  int error;
  /** Part of the answer had left, so that the connection had to end. */
  bool closes;
};

class SliceFailures {
 public:
  static constexpr std::size_t kKeptMax = 64;

  void Add(SliceFailure failure) {
    if (kept_.size() < kKeptMax) kept_.push_back(std::move(failure));
  }
  bool any() const { return !kept_.empty(); }
  std::vector<SliceFailure> Take() { return std::exchange(kept_, {}); }

 private:
  std::vector<SliceFailure> kept_;
};

}  // namespace millrace
