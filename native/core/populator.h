// Faults pages of mappings in ahead of their writers, on one thread, so that the loop does not pay for fresh
// ones. A hint: where the system has no call for it, nothing happens and the writer takes the faults itself.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "core/thread.h"

namespace millrace {

/** One mapping. Its writer stops it before the mapping goes away. */
class PopulateTarget {
 public:
  explicit PopulateTarget(std::uint8_t* base) : base_(base) {}

  /** The writer has come this far: what lies before needs no populating. Any thread. */
  void set_written(std::uint32_t position) { written_.store(position, std::memory_order_relaxed); }
  /** No page is touched any more when this returns. */
  void Stop();

 private:
  friend class Populator;
  enum class Step { kMore, kDone, kUnsupported };
  Step PopulateSome();

  std::uint8_t* const base_;
  std::atomic<std::uint32_t> written_{0};
  std::atomic<std::uint32_t> wanted_{0};
  std::mutex mutex_;
  std::uint32_t populated_ = 0;  // Under the mutex, as the two below.
  bool stopped_ = false;
  bool queued_ = false;  // Under the populator's mutex.
};

class Populator {
 public:
  Populator() = default;
  ~Populator() { Stop(); }
  Populator(const Populator&) = delete;
  Populator& operator=(const Populator&) = delete;

  /** Asks for pages up to `up_to`, which must have blocks. Returns at once. */
  void Ask(const std::shared_ptr<PopulateTarget>& target, std::uint32_t up_to);
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::shared_ptr<PopulateTarget>> queue_;
  Thread thread_;
  bool stopping_ = false;
  bool unsupported_ = false;
};

}  // namespace millrace
