// Segment writers by number, for the append table. A number is a slot below a generation, so that one that is
// kept too long does not reach the next writer of its slot. Slots rest before they are used again, first in,
// first out: a number comes back after two million writers. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/segment_writer.h"

namespace millrace {

class WriterRegistry {
 public:
  std::int32_t Add(std::shared_ptr<SegmentWriter> writer) {
    std::uint32_t slot;
    if (free_.size() < kResting) {
      slot = static_cast<std::uint32_t>(entries_.size());
      entries_.emplace_back();
    } else {
      slot = free_.front();
      free_.pop_front();
    }
    Entry& entry = entries_[slot];
    entry.id = static_cast<std::int32_t>(slot | (entry.generation << kSlotBits));
    entry.writer = std::move(writer);
    return entry.id;
  }

  /** Numbers that are not in use are let pass. */
  void Remove(std::int32_t id) {
    if (Find(id) == nullptr) return;
    const std::uint32_t slot = static_cast<std::uint32_t>(id) & kSlotMask;
    Entry& entry = entries_[slot];
    entry.writer.reset();
    entry.id = kNone;
    entry.generation = (entry.generation + 1) & kGenerationMask;
    free_.push_back(slot);
  }

  /** Null when nobody has that number (any more). */
  SegmentWriter* Find(std::int32_t id) const {
    const std::uint32_t slot = static_cast<std::uint32_t>(id) & kSlotMask;
    if (id < 0 || slot >= entries_.size() || entries_[slot].id != id) return nullptr;
    return entries_[slot].writer.get();
  }

 private:
  static constexpr std::uint32_t kSlotBits = 20;
  static constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;
  static constexpr std::uint32_t kGenerationMask =
      (1u << (31 - kSlotBits)) - 1;  // The number stays positive.
  static constexpr std::int32_t kNone = -1;
  static constexpr std::size_t kResting = 1024;  // 32 KiB of entries.

  struct Entry {
    std::int32_t id = kNone;
    std::uint32_t generation = 0;
    std::shared_ptr<SegmentWriter> writer;
  };
  std::vector<Entry> entries_;
  std::deque<std::uint32_t> free_;
};

}  // namespace millrace
