// Targets take turns, a piece each, so that one partition with a large window does not keep the others
// waiting.

#include "core/populator.h"

#include <unistd.h>

#include <algorithm>

#include "core/platform.h"

namespace millrace {
namespace {

/** A piece: long enough that its call is cheap, short enough that whoever stops a target waits for less than
 * a millisecond. */
constexpr std::uint32_t kPieceBytes = 2 * 1024 * 1024;

std::uint32_t PageBytes() {
  static const auto bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

void PopulateTarget::Stop() {
  std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
}

PopulateTarget::Step PopulateTarget::PopulateSome() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_) return Step::kDone;
  const std::uint32_t page = PageBytes();
  const std::uint32_t written = written_.load(std::memory_order_relaxed) / page * page;
  const std::uint32_t from = std::max(populated_, written);
  // Whole pages that have blocks, and no other: populating a hole would take blocks that nobody reserved.
  const std::uint32_t wanted = wanted_.load(std::memory_order_relaxed) / page * page;
  if (from >= wanted) return Step::kDone;
  const std::uint32_t to = std::min(wanted, from + kPieceBytes);
  switch (platform::PopulateForWriting(base_ + from, to - from)) {
    case platform::PopulateResult::kUnsupported:
      return Step::kUnsupported;
    case platform::PopulateResult::kFailed:
      wanted_.store(0, std::memory_order_relaxed);
      return Step::kDone;
    case platform::PopulateResult::kPopulated:
      break;
  }
  populated_ = to;
  return to < wanted ? Step::kMore : Step::kDone;
}

void Populator::Ask(const std::shared_ptr<PopulateTarget>& target, std::uint32_t up_to) {
  if (target->wanted_.load(std::memory_order_relaxed) >= up_to) return;
  target->wanted_.store(up_to, std::memory_order_relaxed);
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
    std::shared_ptr<PopulateTarget> target = std::move(queue_.front());
    queue_.pop_front();
    target->queued_ = false;
    lock.unlock();
    const PopulateTarget::Step step = target->PopulateSome();
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
