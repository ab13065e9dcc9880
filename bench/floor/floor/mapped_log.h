// Segments in a directory, reserved and mapped, the next one made ready and the pages ahead of the writer
// faulted in by a helper thread: what the broker does, without a broker. No recovery, no index, no names that
// mean anything: it is a floor to stand on, never a log to keep data in.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bench {

struct FloorSegment {
  std::string path;
  int fd = -1;
  uint8_t* map = nullptr;
  uint64_t capacity = 0;
  uint64_t end = 0;          // bytes written
  uint64_t base_offset = 0;  // records before it
  uint64_t records = 0;
  uint64_t populated = 0;  // helper thread only

  FloorSegment(const std::string& path, uint64_t capacity, bool map_it);
  ~FloorSegment();
  FloorSegment(const FloorSegment&) = delete;
  FloorSegment& operator=(const FloorSegment&) = delete;
  void Unmap();
};

/** Faults `[from, to)` in for writing; on kernels without MADV_POPULATE_WRITE by touching each page. */
void PopulateForWrite(uint8_t* map, uint64_t from, uint64_t to);

struct LogOptions {
  std::string directory;
  uint64_t segment_bytes = 0;
  uint64_t ahead = 0;  // bytes before the writer that are kept faulted in; 0: every page is fresh
  bool mapped = true;
  uint64_t keep = 0;  // full segments that stay; older ones are removed (0: all stay)
};

class MappedLog {
 public:
  explicit MappedLog(LogOptions options);
  ~MappedLog();
  MappedLog(const MappedLog&) = delete;
  MappedLog& operator=(const MappedLog&) = delete;

  /** The segment that has room for `bytes` more; rolls when the active one has not. */
  FloorSegment& Room(uint64_t bytes) {
    if (active_->capacity - active_->end < bytes) Roll();
    return *active_;
  }
  /** Takes in what was written at the end of the active segment. */
  void Advance(uint64_t bytes, uint64_t records) {
    active_->end += bytes;
    active_->records += records;
    next_offset_ += records;
    written_.store(active_->end, std::memory_order_relaxed);
    if (options_.ahead != 0 && active_->end >= poke_at_) Poke();
  }
  uint64_t next_offset() const { return next_offset_; }
  const FloorSegment& active() const { return *active_; }
  /** The segment that holds `offset`, which lies below next_offset(). */
  const FloorSegment& Find(uint64_t offset) const;
  /** Descriptors with bytes that were never forced, oldest first, and forgets them: the caller forces them
   * now. */
  std::vector<int> TakeUnforced();

 private:
  void Roll();
  void Poke();
  void Help();

  const LogOptions options_;
  std::vector<std::unique_ptr<FloorSegment>> segments_;
  FloorSegment* active_ = nullptr;
  uint64_t next_offset_ = 0;
  uint64_t poke_at_ = 0;
  size_t first_unforced_ = 0;

  // Shared with the helper thread.
  std::atomic<uint64_t> written_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::unique_ptr<FloorSegment> next_;
  FloorSegment* populating_ = nullptr;
  std::vector<FloorSegment*> full_;                 // to be unmapped; they are read by their descriptors
  std::vector<std::unique_ptr<FloorSegment>> old_;  // to be removed
  uint64_t made_ = 0;
  bool stop_ = false;
  std::thread helper_;
};

}  // namespace bench
