// Order of the bytes of a batch: everything behind its first length, then that length. A process that dies in
// between leaves a zero there, which is the end of the log: the batch is there as a whole or not at all.

#include "core/mapped_writer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/bytes.h"
#include "core/io.h"
#include "core/page.h"
#include "core/platform.h"

namespace millrace {
namespace {

// Preparing writes each block twice, first with zeros. That is worth it where barriers are many and groups
// are small, so that the barrier's own time is what a producer waits for; with large groups the disk has
// better things to do.
constexpr std::uint32_t kSmallGroupBytes = 32 * 1024;
/** So many in a row: a barrier now and then is in no hurry. */
constexpr std::uint32_t kSmallGroups = 4;
/** More than a second's worth of small groups at a thousand barriers per second would be of no use; half is
 * the refill mark. */
constexpr std::uint32_t kPreparedAhead = 1024 * 1024;

/**
 * As much is cached ahead as the segment holds, within these bounds, and more is asked for at half of it:
 * what is written in 20 ms by who is only just too slow to have his pages populated.
 */
constexpr std::uint32_t kCachedAheadMin = 64 * 1024;
constexpr std::uint32_t kCachedAheadMax = 1024 * 1024;

/**
 * A release store of the length. Not through std::atomic: the length may lie at any address, also across two
 * lines, and an atomic store there is undefined (on ARM it faults).
 */
void Publish(std::uint8_t* at, const std::uint8_t* length) {
#if defined(__SANITIZE_THREAD__)
  std::atomic_signal_fence(
      std::memory_order_release);  // It knows no other; nobody reads the mapping in this process.
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
  std::memcpy(at, length, kLengthBytes);
}

}  // namespace

MappedWriter::~MappedWriter() {
  if (target_) target_->Stop();
}

SysError MappedWriter::Prepare() {
  if (const int code = ResizeFile(file()->fd(), capacity())) return Failure(code, "ftruncate");
  if (const int code = mapping_.Map(file()->fd(), capacity(), file()->path())) return Failure(code, "mmap");
  // A fault reads nothing around itself: that is as much as the disk reads ahead, which may be set to
  // megabytes, and the loop would zero all of it for the sake of one page. Where nobody caches ahead it is
  // better than nothing: a page alone costs four times as much.
  if (populator_) platform::FaultAlone(mapping_.base(), capacity());
  target_ = std::make_shared<PopulateTarget>(file(), mapping_.base());
  target_->set_written(end());
  cache_at_ = end();
  return {};
}

void MappedWriter::Stage(const Batch& batch) {
  std::uint8_t* const at = mapping_.base() + staged_end_;
  format().encode(batch.wire, batch.wire_bytes, batch.records, at);
  Publish(at, batch.wire);
  staged_end_ += batch.stored_bytes;
}

int MappedWriter::Commit(WriteScratch*) {
  PublishEnd();
  target_->set_written(staged_end_);
  if (staged_end_ >= cache_at_) CacheAhead();
  return 0;
}

void MappedWriter::CacheAhead() {
  if (!populator_) {
    cache_at_ = UINT32_MAX;
    return;
  }
  const std::uint32_t ahead = std::clamp(staged_end_, kCachedAheadMin, kCachedAheadMax);
  std::uint32_t ready = target_->cached();
  if (ready < staged_end_ + ahead / 2) {
    // Only what has blocks: where there are none yet, once more with the next batch.
    ready = std::min(staged_end_ + ahead, reserved());
    populator_->Cache(target_, ready);
  }
  cache_at_ = ready - std::min(ready, ahead / 2);
}

void MappedWriter::Populate(std::uint32_t up_to) {
  if (populator_) populator_->Populate(target_, std::min(up_to, reserved()));
}

void MappedWriter::NameChanged(const std::string& path) {
  SegmentWriter::NameChanged(path);
  mapping_.set_name(path);
}

SysError MappedWriter::ForceRange(std::uint32_t from, std::uint32_t to) {
  // Exactly what was written: a barrier on the whole file would write all pages that were populated ahead,
  // too. The page of `from` was forced with the last barrier and has new bytes behind them.
  const std::uint32_t first = PageFloor(from);
  if (const int code = ForceMapped(file()->fd(), mapping_.base() + first, to - first))
    return Failure(code, "msync");
  PrepareAhead(from, to);
  return {};
}

void MappedWriter::PrepareAhead(std::uint32_t from, std::uint32_t to) {
  small_groups_ = to - from <= kSmallGroupBytes ? small_groups_ + 1 : 0;
  if (!populator_ || small_groups_ < kSmallGroups || target_->prepared() >= to + kPreparedAhead / 2) return;
  populator_->Prepare(target_, std::min(to + kPreparedAhead, reserved()));
}

int MappedWriter::ReserveWithoutBlocks(std::uint32_t from, std::uint32_t to) {
  return WriteZeros(file()->fd(), from, to);
}

// The cache may hold a large folio there, of this page and of pages behind the end, made by reading ahead of
// who reads. The first store into any page of a folio asks for the blocks of all of it, and where there is no
// room for those behind the end that is a SIGBUS. Asked here it is an error, and once it was granted the
// folio has its blocks. Only the last page can share a folio with what lies behind.
int MappedWriter::TryLastPage(std::uint32_t end) {
  const std::uint32_t last = PageFloor(end - 1);
  std::uint8_t* const page = mapping_.base() + last;
  platform::FaultAlone(page, end - last);
  const bool granted =
      platform::PopulateForWriting(page, end - last) != platform::PopulateResult::kFailed || errno != EFAULT;
  return granted ? 0 : ENOSPC;
}

int MappedWriter::Fill(std::uint32_t from, std::uint32_t to) {
  const std::uint32_t first = PageFloor(from);
  // Where somebody faulted before, the system's marks for reading ahead may lie in the way: at each of them
  // it would read in what comes behind, which is then written over, and every page is zeroed twice.
  platform::FaultAlone(mapping_.base() + first, to - first);
  // By a write and not by faults alone: those bring in one page at a time, each by a read that finds nothing.
  if (const int code = WriteZeros(file()->fd(), from, to)) return code;
  (void)platform::PopulateForWriting(mapping_.base() + first, to - first);
  target_->set_cached(to);
  return 0;
}

void MappedWriter::HandOver(std::uint32_t end) {
  // After a close the mapping is gone, and was handed over then.
  if (mapping_.base() != nullptr) platform::HandOverMapping(mapping_.base(), end);
}

void MappedWriter::Release() {
  if (target_) target_->Stop();
  mapping_.Unmap(end());
}

}  // namespace millrace
