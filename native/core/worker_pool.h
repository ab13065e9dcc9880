// Threads of the addon's own, started when first needed. Separate pools for barriers, reads and maintenance,
// so that none starves another, and never libuv's pool, which belongs to the program around us.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "core/thread.h"

namespace millrace {

class WorkerPool {
 public:
  /** With `gives_way` its threads leave the processor to the others where there is not enough for all. */
  explicit WorkerPool(std::size_t threads, bool gives_way = false) : gives_way_(gives_way), limit_(threads) {}
  ~WorkerPool() { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /** Runs `job` on one of the threads, in the order of submission when there is one thread. */
  void Submit(std::function<void()> job);
  /** Changes how many threads there may be; running ones stay, and jobs that wait get new ones at once. */
  void set_limit(std::size_t threads);
  /** Drops jobs that have not begun, waits for those that have, joins. Later jobs are dropped. */
  void Stop();

 private:
  void Run();

  const bool gives_way_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> jobs_;
  std::vector<Thread> threads_;
  std::size_t limit_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

/** Results on their way back to the loop thread. `wake` is called (from any thread) when the queue stops
 * being empty. */
class CompletionQueue {
 public:
  explicit CompletionQueue(std::function<void()> wake) : wake_(std::move(wake)) {}
  void Post(std::function<void()> done);
  /** Runs everything that has been posted. Loop thread only. */
  void Drain();
  /** Drops everything that has been posted, unrun. */
  void Discard();

 private:
  std::vector<std::function<void()>> Take();

  std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
};

}  // namespace millrace
