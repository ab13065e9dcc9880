// The writing end of an active segment: one interface, two ways to write behind it. Appends come from one
// thread (the loop); barriers, reservations and the end run on others beside them. It must not know what is
// in a batch, nor who asks.
//
// What is broken stays broken: after a failed write or barrier nothing is known about the bytes on the disk,
// and whoever tried again could be told that all is well.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/abi.h"
#include "core/error.h"
#include "core/file.h"
#include "core/record_format.h"

namespace millrace {

class Populator;

struct SegmentWriterConfig {
  std::string path;
  SegmentMode mode = SegmentMode::kMapped;
  const RecordFormat* format = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t index_interval = 0;
  std::uint32_t reserve = 0;
  /** Leaves forcing the creation to the first barrier: for who fills the segment fast and forces seldom. */
  bool force_later = false;
  /** MAPPED: makes pages ready ahead. May be null. */
  std::shared_ptr<Populator> populator;
};

/** A checked record region on its way into a segment. */
struct Batch {
  const std::uint8_t* wire;
  std::uint32_t wire_bytes;
  std::uint32_t records;
  std::uint32_t stored_bytes;
};

/** Working memory of the appending thread, shared by all its writers: they write one after the other. */
struct WriteScratch {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::vector<iovec> parts;
};

class SegmentWriter {
 public:
  /** Creates the file, which must not exist, and forces it unless that is left for later. Null and `error` on
   * failure; then no file is left behind. */
  static std::shared_ptr<SegmentWriter> Create(const SegmentWriterConfig& config, SysError* error);
  /**
   * Opens an existing segment whose records end at `end`; what lies behind is cut off for good. On a full
   * disk nothing is reserved.
   */
  static std::shared_ptr<SegmentWriter> Open(const SegmentWriterConfig& config, std::uint32_t end,
                                             SysError* error);

  /** Never cuts the file: a writer that was only forgotten loses nothing. */
  virtual ~SegmentWriter() = default;
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  const FilePtr& file() const { return file_; }
  const RecordFormat& format() const { return *format_; }
  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t max_payload() const { return max_payload_; }
  std::uint32_t index_interval() const { return index_interval_; }
  std::uint32_t end() const { return end_.load(std::memory_order_relaxed); }
  std::uint32_t reserved() const { return reserved_.load(std::memory_order_acquire); }
  /** The errno that broke the writer, or 0. */
  int broken() const { return broken_.load(std::memory_order_acquire); }

  // ---- the loop thread

  /** Takes in a batch that fits between `staged_end` and `reserved`. Its bytes stay as they are until
   * `Commit`. */
  virtual void Stage(const Batch& batch) = 0;
  /** Writes what was staged and moves the end, last. 0, or the errno; then the writer is broken and the end
   * as before. */
  virtual int Commit(WriteScratch* scratch) = 0;
  /** The position behind what was staged so far. */
  std::uint32_t staged_end() const { return staged_end_; }
  /** A hint: pages up to `up_to` will be written soon. */
  virtual void Populate(std::uint32_t up_to);
  /** The file was renamed. */
  virtual void NameChanged(const std::string& path);

  /** From which position on an index entry is due. The append's own. */
  std::uint64_t next_index = 0;
  /** The turn in which a batch found no room here: no later one of that turn may overtake it. The append's
   * own. */
  std::uint64_t full_in_turn = 0;

  // ---- worker threads

  /** Reserves blocks up to `up_to`, clamped to the capacity. */
  SysError Reserve(std::uint32_t up_to);
  /** The same, and brings the pages into the cache first, a piece at a time. Gives way to whoever waits to
   * reserve or to finish: then less is reserved than was asked for. */
  SysError ReserveFilled(std::uint32_t up_to);
  /** Forces all up to `end`. Barriers of one writer run one after the other. */
  SysError Force(std::uint32_t end);
  /** Cuts the file to its records and, with `force`, forces it. Nothing may be appended from before the call
   * on. */
  SysError Finish(bool force);

 protected:
  SegmentWriter(const SegmentWriterConfig& config, FilePtr file, std::uint32_t end);

  /** What is done to the empty or cut file before it can be written. */
  virtual SysError Prepare() = 0;
  /** Forces [from, to); the file's size and extents are on the disk already. */
  virtual SysError ForceRange(std::uint32_t from, std::uint32_t to) = 0;
  /** Makes [from, to) safe to write on a file system that cannot reserve blocks. 0, or the errno. */
  virtual int ReserveWithoutBlocks(std::uint32_t from, std::uint32_t to) = 0;
  /** Whether the last page before `end`, all of whose blocks are there, takes a store. 0, or ENOSPC. */
  virtual int TryLastPage(std::uint32_t end);
  /** Makes pages of [from, to) quick to write. They have blocks, and nobody writes there yet. 0, or the
   * errno. */
  virtual int Fill(std::uint32_t from, std::uint32_t to);
  /** Before the whole file is forced: what was written up to `end` must be the file's. */
  virtual void HandOver(std::uint32_t end);
  /** Lets go of everything but the file. */
  virtual void Release() = 0;

  SysError Failure(int code, const char* syscall);
  /** Keeps the first errno. */
  void Break(int code);
  void PublishEnd() { end_.store(staged_end_, std::memory_order_release); }

  std::uint32_t staged_end_;

 private:
  /** Blocks for [from, to). Where there is no call for that, [from, at_least) is made safe in another way,
   * and
   * `*filled` set. */
  SysError ReserveBlocks(std::uint32_t from, std::uint32_t to, std::uint32_t at_least, bool* filled);
  static std::shared_ptr<SegmentWriter> Make(const SegmentWriterConfig& config, FilePtr file,
                                             std::uint32_t end);

  const FilePtr file_;
  const RecordFormat* const format_;
  const std::uint32_t capacity_;
  const std::uint32_t max_payload_;
  const std::uint32_t index_interval_;
  std::atomic<std::uint32_t> end_;
  std::atomic<std::uint32_t> reserved_;
  std::atomic<int> broken_{0};

  std::mutex naming_;
  std::string name_;  // Under `naming_`. Workers must not read the file's own, which the loop thread changes.

  std::mutex reserving_;         // Taken before `forcing_`.
  std::atomic<int> waiting_{0};  // How many want `reserving_` at once.
  std::mutex forcing_;
  bool resized_ = true;       // Under `forcing_`: the next barrier must cover metadata, too.
  std::uint32_t forced_ = 0;  // Under `forcing_`.
  bool finished_ = false;     // Under `reserving_`.
  std::uint32_t blocks_ = 0;  // Under `reserving_`: what is being filled has blocks up to here.
};

}  // namespace millrace
