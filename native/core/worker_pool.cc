#include "core/worker_pool.h"

namespace millrace {

void WorkerPool::Submit(std::function<void()> job) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stopping_) return;
  jobs_.push_back(std::move(job));
  if (idle_ < jobs_.size() && threads_.size() < limit_) threads_.emplace_back([this] { Run(); });
  lock.unlock();
  ready_.notify_one();
}

void WorkerPool::set_limit(std::size_t threads) {
  std::lock_guard<std::mutex> lock(mutex_);
  limit_ = threads;
}

void WorkerPool::Stop() {
  std::vector<std::thread> threads;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    jobs_.clear();
    threads.swap(threads_);
  }
  ready_.notify_all();
  for (auto& thread : threads) thread.join();
}

void WorkerPool::Run() {
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
    job = nullptr;  // What the job holds is released outside the lock.
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

void CompletionQueue::Drain() {
  std::vector<std::function<void()>> batch;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    batch.swap(posted_);
  }
  for (auto& done : batch) done();
}

}  // namespace millrace
