// One barrier at a time on a thread of its own; whoever comes meanwhile waits for the next. An eventfd says
// that it is done.
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
  Forcer() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    thread_ = std::thread([this] { Run(); });
  }
  ~Forcer() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
    close(event_);
  }
  Forcer(const Forcer&) = delete;
  Forcer& operator=(const Forcer&) = delete;

  int event() const { return event_; }
  bool busy() const { return busy_; }
  /** Forces these files in order. Not while busy(). */
  void Start(std::vector<int> descriptors) {
    busy_ = true;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      work_ = std::move(descriptors);
      has_work_ = true;
    }
    wake_.notify_one();
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
      wake_.wait(lock, [this] { return has_work_ || stop_; });
      if (stop_) return;
      has_work_ = false;
      const std::vector<int> work = std::move(work_);
      lock.unlock();
      for (const int fd : work) {
        if (fdatasync(fd) != 0) Die("fdatasync failed");
      }
      const uint64_t one = 1;
      if (write(event_, &one, sizeof one) != sizeof one) Die("eventfd");
      lock.lock();
    }
  }

  const int event_;
  bool busy_ = false;  // loop thread only
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<int> work_;
  bool has_work_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace bench
