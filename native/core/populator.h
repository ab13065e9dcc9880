// Makes pages of mappings ready ahead of their writers, on one thread, so that neither the loop nor a barrier
// pays for fresh ones. There are three degrees of it:
//   cached      in the system's cache, and clean: a store faults, and finds its page. The disk has nothing of
//               it to write, so every writer gets it.
//   populated   faulted in for writing: an append is a plain copy. The pages are dirty.
//   prepared    populated and written out once: the blocks under them are written blocks.
// A barrier over blocks that were only reserved must also record, in the file system's journal, that they are
// in use now; over prepared ones it writes the data and nothing else, which halves it (docs/decisions.md).
// All are hints: where the system has no call for it, nothing happens.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "core/file.h"
#include "core/thread.h"

namespace millrace {

/** One mapping. Its writer stops it before the mapping goes away. */
class PopulateTarget {
 public:
  PopulateTarget(FilePtr file, std::uint8_t* base) : file_(std::move(file)), base_(base) {}

  /** The writer has come this far: what lies before needs nothing any more. Any thread. */
  void set_written(std::uint32_t position) { written_.store(position, std::memory_order_relaxed); }
  /** Up to where pages are prepared. Any thread. */
  std::uint32_t prepared() const { return prepared_.load(std::memory_order_relaxed); }
  /** Up to where pages are cached, without gaps from where the writer is, as far as is known. Any thread. */
  std::uint32_t cached() const { return cached_.load(std::memory_order_relaxed); }
  /** Somebody else has cached the pages up to here. Any thread. */
  void set_cached(std::uint32_t position);
  /** No page is touched any more when this returns. */
  void Stop();

 private:
  friend class Populator;
  enum class Step { kMore, kDone, kCannotPopulate };
  Step TakeStep();
  /** Brings [from, to) into the cache. */
  void ReadIn(std::uint32_t from, std::uint32_t to);

  const FilePtr file_;
  std::uint8_t* const base_;
  std::atomic<std::uint32_t> written_{0};
  std::atomic<std::uint32_t> populate_to_{0};
  std::atomic<std::uint32_t> prepare_to_{0};
  std::atomic<std::uint32_t> prepared_{0};
  std::atomic<std::uint32_t> cache_to_{0};
  std::atomic<std::uint32_t> cached_{0};
  std::mutex mutex_;
  std::uint32_t populated_ = 0;  // Under the mutex.
  bool stopped_ = false;         // Under the mutex.
  bool queued_ = false;          // Under the populator's.
};

using PopulateTargetPtr = std::shared_ptr<PopulateTarget>;

class Populator {
 public:
  Populator() = default;
  ~Populator() { Stop(); }
  Populator(const Populator&) = delete;
  Populator& operator=(const Populator&) = delete;

  /** Asks for pages up to `up_to`, which must have blocks. Any thread; returns at once. */
  void Cache(const PopulateTargetPtr& target, std::uint32_t up_to);
  void Populate(const PopulateTargetPtr& target, std::uint32_t up_to);
  void Prepare(const PopulateTargetPtr& target, std::uint32_t up_to);
  void Stop();

 private:
  void Ask(const PopulateTargetPtr& target, std::atomic<std::uint32_t>* wish, std::uint32_t up_to);
  void Run();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<PopulateTargetPtr> queue_;
  Thread thread_;
  bool stopping_ = false;
  bool cannot_populate_ = false;
};

}  // namespace millrace
