// Where the server's batches go: nowhere, into a mapping, or through one pwrite for all batches of a receive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "floor/mapped_log.h"
#include "floor/records.h"

namespace bench {

enum class SinkKind { kNone, kMapped, kPwrite };

class Sink {
 public:
  Sink(SinkKind kind, bool sums, LogOptions options) : kind_(kind), sums_(sums) {
    options.mapped = kind == SinkKind::kMapped;
    if (kind != SinkKind::kNone) log_ = std::make_unique<MappedLog>(std::move(options));
  }

  /** Returns the base offset. The bytes are in the file after Commit(). */
  uint64_t Append(const uint8_t* region, uint64_t bytes, uint64_t records) {
    const uint64_t base = next_offset_;
    next_offset_ += records;
    if (kind_ == SinkKind::kNone) return base;
    const uint64_t stored = StoredBytes(bytes, records, sums_);
    if (kind_ == SinkKind::kMapped) {
      FloorSegment& segment = log_->Room(stored);
      Store(segment.map + segment.end, region, bytes, sums_);
      log_->Advance(stored, records);
      return base;
    }
    if (log_->active().capacity - log_->active().end < staged_bytes_ + stored) Commit();
    if (staging_.size() < staged_bytes_ + stored) staging_.resize(2 * (staged_bytes_ + stored));
    Store(staging_.data() + staged_bytes_, region, bytes, sums_);
    staged_bytes_ += stored;
    staged_records_ += records;
    return base;
  }

  void Commit() {
    if (staged_bytes_ == 0) return;
    FloorSegment& segment = log_->Room(staged_bytes_);
    const ssize_t n = pwrite(segment.fd, staging_.data(), staged_bytes_, static_cast<off_t>(segment.end));
    if (n != static_cast<ssize_t>(staged_bytes_)) Die("pwrite failed");
    log_->Advance(staged_bytes_, staged_records_);
    staged_bytes_ = 0;
    staged_records_ = 0;
  }

  uint64_t next_offset() const { return next_offset_; }
  MappedLog* log() { return log_.get(); }
  bool sums() const { return sums_; }

  /** Set and cleared by the server: somebody waits for a barrier, or bytes wait for Commit(). */
  bool wanted = false;
  bool touched = false;

 private:
  const SinkKind kind_;
  const bool sums_;
  std::unique_ptr<MappedLog> log_;
  uint64_t next_offset_ = 0;
  std::vector<uint8_t> staging_;
  uint64_t staged_bytes_ = 0;
  uint64_t staged_records_ = 0;
};

}  // namespace bench
