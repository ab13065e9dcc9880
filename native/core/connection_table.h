// Connection ids: a slot and the generation of its owner, so that a late reply never reaches the next owner.
// Slots are reused first in, first out, and only after the end of their owner was reported.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/connection.h"

namespace millrace {

class ConnectionTable {
 public:
  explicit ConnectionTable(std::uint32_t slots_max) : slots_max_(slots_max) {}

  /** Null when the id's owner is gone. */
  Connection* Find(std::int32_t id) {
    const std::uint32_t slot = static_cast<std::uint32_t>(id) & (kSlotsMax - 1);
    if (id <= 0 || slot >= slots_.size()) return nullptr;
    Connection* const connection = slots_[slot].get();
    return connection->id == id && connection->alive() ? connection : nullptr;
  }

  bool HasRoom() const { return !free_.empty() || slots_.size() < slots_max_; }
  /** A connection with a new id, in state kOpen. Only when there is room. */
  Connection& Take();
  /** The end of `id` has been reported: its slot may be used again. */
  void GiveBack(std::int32_t id);

  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }
  Connection& at(std::uint32_t slot) { return *slots_[slot]; }

 private:
  std::uint32_t slots_max_;
  std::vector<std::unique_ptr<Connection>> slots_;
  /** A ring of free slots: taken at `free_head_`, given back behind the last. */
  struct FreeRing {
    std::vector<std::uint32_t> slots;
    std::size_t head = 0;
    std::size_t count = 0;
    bool empty() const { return count == 0; }
    void Push(std::uint32_t slot);
    std::uint32_t Pop();
  } free_;
};

}  // namespace millrace
