// Targets take turns, a piece each, so that one partition with a large window does not keep the others
// waiting.

#include "core/populator.h"

#include <algorithm>

#include "core/page.h"
#include "core/platform.h"

namespace millrace {
namespace {

/** A piece: long enough that its call is cheap, short enough that whoever stops a target waits for a
 * millisecond or so. */
constexpr std::uint32_t kPieceBytes = 2 * 1024 * 1024;
/** The same for a piece that is written out: the disk's time comes on top. */
constexpr std::uint32_t kPreparedPieceBytes = 512 * 1024;
/** The system takes no more from one call where a disk reads ahead by its usual amount. */
constexpr std::uint32_t kReadInBytes = 128 * 1024;
constexpr std::uint32_t kAllPrepared = UINT32_MAX;

}  // namespace

void PopulateTarget::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
}

void PopulateTarget::set_cached(std::uint32_t position) {
  std::uint32_t known = cached();
  while (known < position && !cached_.compare_exchange_weak(known, position, std::memory_order_relaxed,
                                                            std::memory_order_relaxed)) {
  }
}

void PopulateTarget::ReadIn(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t missing = std::max(from, PageFloor(cached()));
  for (std::uint32_t at = missing; at < to; at += kReadInBytes)
    platform::ReadAhead(file_->fd(), at, std::min(kReadInBytes, to - at));
  set_cached(to);
}

PopulateTarget::Step PopulateTarget::TakeStep() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return Step::kDone;
  // Whole pages that have blocks, and no other: populating a hole would take blocks that nobody reserved.
  const std::uint32_t populate_to = PageFloor(populate_to_.load(std::memory_order_relaxed));
  const std::uint32_t prepare_to = PageFloor(prepare_to_.load(std::memory_order_relaxed));
  const std::uint32_t written = written_.load(std::memory_order_relaxed);
  const std::uint32_t populate_from = std::max(populated_, PageFloor(written));
  // Not what was only populated, nor the page of the end: writing those out would disturb the writer in the
  // middle of them.
  const std::uint32_t prepare_from = std::max({prepared(), populated_, PageCeiling(written)});
  const bool prepare = prepare_from < prepare_to;
  if (!prepare && populate_from >= populate_to) {
    const std::uint32_t cache_to = PageFloor(cache_to_.load(std::memory_order_relaxed));
    const std::uint32_t cache_from = std::max(PageFloor(cached()), PageFloor(written));
    if (cache_from >= cache_to) return Step::kDone;
    ReadIn(cache_from, std::min(cache_to, cache_from + kPieceBytes));
    return Step::kMore;
  }

  const std::uint32_t from = prepare ? prepare_from : populate_from;
  const std::uint32_t to =
      prepare ? std::min(prepare_to, from + kPreparedPieceBytes) : std::min(populate_to, from + kPieceBytes);
  // Faults read nothing around them, and would bring in a page at a time.
  ReadIn(from, to);
  const platform::PopulateResult result = platform::PopulateForWriting(base_ + from, to - from);
  switch (result) {
    case platform::PopulateResult::kUnsupported:
    case platform::PopulateResult::kFailed:
      populate_to_.store(0, std::memory_order_relaxed);
      prepare_to_.store(0, std::memory_order_relaxed);
      return result == platform::PopulateResult::kFailed ? Step::kDone : Step::kCannotPopulate;
    case platform::PopulateResult::kPopulated:
      break;
  }
  populated_ = to;
  if (prepare) {
    // A disk that failed says so to the next barrier. None is asked for again.
    const bool written_out = platform::WriteOut(file_->fd(), from, to - from);
    prepared_.store(written_out ? to : kAllPrepared, std::memory_order_relaxed);
  }
  return Step::kMore;
}

void Populator::Cache(const PopulateTargetPtr& target, std::uint32_t up_to) {
  Ask(target, &target->cache_to_, up_to);
}

void Populator::Populate(const PopulateTargetPtr& target, std::uint32_t up_to) {
  Ask(target, &target->populate_to_, up_to);
}

void Populator::Prepare(const PopulateTargetPtr& target, std::uint32_t up_to) {
  Ask(target, &target->prepare_to_, up_to);
}

void Populator::Ask(const PopulateTargetPtr& target, std::atomic<std::uint32_t>* wish, std::uint32_t up_to) {
  if (wish->load(std::memory_order_relaxed) >= up_to) return;
  wish->store(up_to, std::memory_order_relaxed);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (stopping_ || target->queued_) return;
    if (cannot_populate_ && wish != &target->cache_to_) return;
    if (!thread_.running() && !thread_.Start([this] { Run(); })) return;
    target->queued_ = true;
    queue_.push_back(target);
  }
  ready_.notify_one();
}

void Populator::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  ready_.notify_all();
  thread_.Join();
}

void Populator::Run() {
  // Whoever it works for does without where it comes too late; the loop does not.
  platform::GiveWay();
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    ready_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    PopulateTargetPtr target = std::move(queue_.front());
    queue_.pop_front();
    target->queued_ = false;
    lock.unlock();
    const PopulateTarget::Step step = target->TakeStep();
    lock.lock();
    if (step == PopulateTarget::Step::kCannotPopulate) cannot_populate_ = true;
    // Its other wishes are gone with the first one that could not be met; what is to be cached still can.
    if (step != PopulateTarget::Step::kDone && !stopping_ && !target->queued_) {
      target->queued_ = true;
      queue_.push_back(std::move(target));
    }
  }
}

}  // namespace millrace
