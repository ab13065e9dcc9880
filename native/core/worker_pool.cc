// Whatever a job or a completion holds (files, mappings) is released outside the lock: letting go of the last
// reference to a file can take long.

#include "core/worker_pool.h"

#include <utility>

#include "core/platform.h"

namespace millrace {

void WorkerPool::Submit(std::function<void()> job) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stopping_) return;
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < limit_) {
    Thread thread;
    if (thread.Start([this] { Run(); })) {
      threads_.push_back(std::move(thread));
    } else if (threads_.empty()) {
      // No thread at all to be had: late on this thread is better than never.
      std::function<void()> now = std::move(jobs_.back());
      jobs_.pop_back();
      lock.unlock();
      now();
      return;
    }
  }
  lock.unlock();
  ready_.notify_one();
}

void WorkerPool::set_limit(std::size_t threads) {
  std::lock_guard<std::mutex> lock(mutex_);
  limit_ = threads;
  // Jobs that wait already get the threads that they may have now.
  for (std::size_t served = idle_; !stopping_ && served < jobs_.size() && threads_.size() < limit_;
       served++) {
    Thread thread;
    if (!thread.Start([this] { Run(); })) return;
    threads_.push_back(std::move(thread));
  }
}

void WorkerPool::Stop() {
  std::deque<std::function<void()>> dropped;
  std::vector<Thread> threads;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
    threads.swap(threads_);
  }
  ready_.notify_all();
  for (auto& thread : threads) thread.Join();
}

void WorkerPool::Run() {
  if (gives_way_) platform::GiveWay();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    idle_++;
    ready_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    idle_--;
    if (stopping_) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

void CompletionQueue::Post(std::function<void()> done) {
  bool first;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(done));
  }
  if (first) wake_();
}

std::vector<std::function<void()>> CompletionQueue::Take() {
  std::vector<std::function<void()>> batch;
  std::lock_guard<std::mutex> lock(mutex_);
  batch.swap(posted_);
  return batch;
}

void CompletionQueue::Drain() {
  for (auto& done : Take()) done();
}

void CompletionQueue::Discard() { Take(); }

}  // namespace millrace
