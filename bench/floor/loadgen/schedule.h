// When the requests of an open loop begin: request n at `start + n / rate`, whatever happened to those before
// it. It is arithmetic and nothing else: a queue of times would itself take time when the broker stalls.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bench {

class Schedule {
 public:
  Schedule(double rate, uint64_t total, uint64_t start_ns)
      : ns_each_(1e9 / rate), total_(total), start_ns_(start_ns) {}

  uint64_t total() const { return total_; }
  uint64_t TimeOf(uint64_t request) const {
    return start_ns_ + static_cast<uint64_t>(static_cast<double>(request) * ns_each_);
  }
  /** How many requests should have begun by now. */
  uint64_t DueAt(uint64_t now_ns) const {
    if (now_ns < start_ns_) return 0;
    uint64_t due = static_cast<uint64_t>(static_cast<double>(now_ns - start_ns_) / ns_each_);
    while (due < total_ && TimeOf(due) <= now_ns) due++;
    return std::min(due, total_);
  }
  uint64_t EndNs() const { return TimeOf(total_); }

 private:
  const double ns_each_;
  const uint64_t total_;
  const uint64_t start_ns_;
};

}  // namespace bench
