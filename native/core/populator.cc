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
constexpr std::uint32_t kAllPrepared = UINT32_MAX;

}  // namespace

void PopulateTarget::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
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
  if (!prepare && populate_from >= populate_to) return Step::kDone;

  const std::uint32_t from = prepare ? prepare_from : populate_from;
  const std::uint32_t to =
      prepare ? std::min(prepare_to, from + kPreparedPieceBytes) : std::min(populate_to, from + kPieceBytes);
  switch (platform::PopulateForWriting(base_ + from, to - from)) {
    case platform::PopulateResult::kUnsupported:
      return Step::kUnsupported;
    case platform::PopulateResult::kFailed:
      populate_to_.store(0, std::memory_order_relaxed);
      prepare_to_.store(0, std::memory_order_relaxed);
      return Step::kDone;
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
    if (stopping_ || unsupported_ || target->queued_) return;
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
    if (step == PopulateTarget::Step::kUnsupported) {
      unsupported_ = true;
      queue_.clear();
    } else if (step == PopulateTarget::Step::kMore && !stopping_ && !target->queued_) {
      target->queued_ = true;
      queue_.push_back(std::move(target));
    }
  }
}

}  // namespace millrace
