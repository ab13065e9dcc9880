// Order of the bytes of a batch: everything behind its first length, then that length. A process that dies in
// between leaves a zero there, which is the end of the log: the batch is there as a whole or not at all.

#include "core/mapped_writer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/bytes.h"
#include "core/io.h"

namespace millrace {

MappedWriter::~MappedWriter() {
  if (populate_) populate_->Stop();
}

SysError MappedWriter::Prepare() {
  if (::ftruncate(file()->fd(), static_cast<off_t>(capacity())) != 0) return Failure(errno, "ftruncate");
  if (const int code = mapping_.Map(file()->fd(), capacity(), file()->path())) return Failure(code, "mmap");
  populate_ = std::make_shared<PopulateTarget>(mapping_.base());
  populate_->set_written(end());
  return {};
}

void MappedWriter::Stage(const Batch& batch) {
  std::uint8_t* const at = mapping_.base() + staged_end_;
  format().encode(batch.wire, batch.wire_bytes, batch.records, at);
  // A release store of the length. Not through std::atomic: the length may lie at any address, also across
  // two lines, and an atomic store there is undefined (on ARM it faults).
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(at, batch.wire, kLengthBytes);
  staged_end_ += batch.stored_bytes;
}

int MappedWriter::Commit(WriteScratch*) {
  PublishEnd();
  populate_->set_written(staged_end_);
  return 0;
}

void MappedWriter::Populate(std::uint32_t up_to, Populator* populator) {
  populator->Ask(populate_, std::min(up_to, reserved()));
}

void MappedWriter::NameChanged(const std::string& path) {
  SegmentWriter::NameChanged(path);
  mapping_.set_name(path);
}

SysError MappedWriter::ForceRange(std::uint32_t from, std::uint32_t to) {
  // The page of `from` was forced with the last barrier and has new bytes behind them.
  const std::uint32_t first = from / Mapping::PageBytes() * Mapping::PageBytes();
  if (const int code = ForceMapped(file()->fd(), mapping_.base() + first, to - first))
    return Failure(code, "msync");
  return {};
}

int MappedWriter::ReserveWithoutBlocks(std::uint32_t from, std::uint32_t to) {
  return WriteZeros(file()->fd(), from, to);
}

void MappedWriter::Release() {
  if (populate_) populate_->Stop();
  mapping_.Unmap(end());
}

}  // namespace millrace
