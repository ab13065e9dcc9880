// Slots and generations. A slot's Connection stays allocated, so that accepting in the steady state allocates
// nothing.

#include "core/connection_table.h"

namespace millrace {

Connection& ConnectionTable::Take() {
  if (free_.empty()) {
    const auto slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::make_unique<Connection>());
    // Generation 0 is left out, so that no id is 0.
    slots_.back()->id = static_cast<std::int32_t>((1u << kSlotBits) | slot);
  }
  Connection& connection = free_.empty() ? *slots_.back() : *slots_[free_.Pop()];
  connection.state = ConnectionState::kOpen;
  return connection;
}

void ConnectionTable::GiveBack(std::int32_t id) {
  const std::uint32_t slot = static_cast<std::uint32_t>(id) & (kSlotsMax - 1);
  const std::uint32_t generation = static_cast<std::uint32_t>(id) >> kSlotBits;
  const std::uint32_t next = generation + 1 < kGenerations ? generation + 1 : 1;
  Connection& connection = *slots_[slot];
  connection.id = static_cast<std::int32_t>((next << kSlotBits) | slot);
  connection.state = ConnectionState::kFree;
  free_.Push(slot);
}

void ConnectionTable::FreeRing::Push(std::uint32_t slot) {
  if (count == slots.size()) {
    std::vector<std::uint32_t> larger(slots.empty() ? 64 : 2 * slots.size());
    for (std::size_t i = 0; i < count; i++) larger[i] = slots[(head + i) % slots.size()];
    slots.swap(larger);
    head = 0;
  }
  slots[(head + count++) % slots.size()] = slot;
}

std::uint32_t ConnectionTable::FreeRing::Pop() {
  const std::uint32_t slot = slots[head];
  head = (head + 1) % slots.size();
  count--;
  return slot;
}

}  // namespace millrace
