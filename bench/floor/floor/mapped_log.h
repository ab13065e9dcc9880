// Segments in a directory, reserved and mapped, the next one made ready by a helper thread, with its pages:
// what a broker has to do, without a broker. No recovery, no index, no names that mean anything: it is a
// floor to stand on, never a log to keep data in.
#pragma once

#include <sys/mman.h>

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
  // Shared with the helper: [0, prepared) may be written, [prepared, claimed) somebody prepares just now.
  uint64_t prepared = 0;
  uint64_t claimed = 0;

  FloorSegment(const std::string& path, uint64_t capacity, bool map_it);
  ~FloorSegment();
  FloorSegment(const FloorSegment&) = delete;
  FloorSegment& operator=(const FloorSegment&) = delete;
  void Unmap();
};

/** Faults `[from, to)` in for writing; on kernels without MADV_POPULATE_WRITE by touching each page. */
void PopulateForWrite(uint8_t* map, uint64_t from, uint64_t to);

/**
 * Gives `[from, to)` of a file its pages, for writing. Zeros written in pieces first: the mapping's own
 * faults would read each block in, in folios that grow to 2 MiB, and a virtual machine that gives free memory
 * back to its host has none of that size at hand (0.6 instead of 5 GB/s). Only where nobody has written yet.
 */
void PreparePages(int fd, uint8_t* map, uint64_t from, uint64_t to);

struct LogOptions {
  std::string directory;
  uint64_t segment_bytes = 0;
  bool prepared = true;       // pages are made by the helper before they are written
  uint64_t ahead = 64 << 20;  // … so far ahead of the end and no further
  bool mapped = true;
  uint64_t keep = 0;        // full segments that stay; older ones are removed (0: all stay)
  bool force_full = false;  // a full segment is forced by the helper, as a broker seals it
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
    if (active_->end + bytes > usable_) TakeRoom(bytes);
    return *active_;
  }
  /** Takes in what was written at the end of the active segment. */
  void Advance(uint64_t bytes, uint64_t records) {
    active_->end += bytes;
    active_->records += records;
    next_offset_ += records;
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
  /** Takes prepared pages, or unprepared ones when the helper has fallen behind; it sees the end meanwhile.
   */
  void TakeRoom(uint64_t bytes);
  void Help();
  /** What the helper should prepare next, if anything. With the lock. */
  FloorSegment* Wanted();

  const LogOptions options_;
  std::vector<std::unique_ptr<FloorSegment>> segments_;
  FloorSegment* active_ = nullptr;
  uint64_t next_offset_ = 0;
  size_t first_unforced_ = 0;
  uint64_t usable_ = 0;  // of the active segment; looked at without the lock

  // Shared with the helper thread.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::unique_ptr<FloorSegment> next_;
  uint64_t end_seen_ = 0;                           // of the active segment, as of the last TakeRoom
  std::vector<FloorSegment*> full_;                 // to be unmapped; they are read by their descriptors
  std::vector<std::unique_ptr<FloorSegment>> old_;  // to be removed
  uint64_t made_ = 0;
  bool stop_ = false;
  std::thread helper_;
};

}  // namespace bench
