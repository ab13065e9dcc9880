// One round of barriers at a time, on threads of its own: the files of a round are forced beside each other.
// Whoever comes meanwhile waits for the next round. An eventfd says that it is done.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "common/args.h"

namespace bench {

class Forcer {
 public:
  explicit Forcer(uint32_t threads) : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    for (uint32_t i = 0; i < threads; i++) threads_.emplace_back([this] { Run(); });
  }
  ~Forcer() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    close(event_);
  }
  Forcer(const Forcer&) = delete;
  Forcer& operator=(const Forcer&) = delete;

  int event() const { return event_; }
  bool busy() const { return busy_; }
  /** Forces these files, of which there is one at least. Not while busy(). */
  void Start(std::vector<int> descriptors) {
    busy_ = true;
    const bool several = descriptors.size() > 1;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      work_ = std::move(descriptors);
      left_ = work_.size();
    }
    several ? wake_.notify_all() : wake_.notify_one();
  }
  /** The event was seen. */
  void Finish() {
    uint64_t ignored = 0;
    if (read(event_, &ignored, sizeof ignored) == sizeof ignored) busy_ = false;
  }

 private:
  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !work_.empty() || stop_; });
      if (stop_) return;
      const int fd = work_.back();
      work_.pop_back();
      lock.unlock();
      if (fdatasync(fd) != 0) Die("fdatasync failed");
      lock.lock();
      if (--left_ > 0) continue;
      const uint64_t one = 1;
      if (write(event_, &one, sizeof one) != sizeof one) Die("eventfd");
    }
  }

  const int event_;
  bool busy_ = false;  // loop thread only
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<int> work_;
  size_t left_ = 0;  // of the round: not forced yet
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace bench
