// What a PRODUCE carries, once more: whether it is whole, and what it becomes in a segment.
#pragma once

#include "core/abi.h"
#include "kit.h"

namespace millrace::fuzz {

inline AppendStatus Judge(const Bytes& wire, std::int64_t records, std::int64_t longest) {
  const auto size = static_cast<std::int64_t>(wire.size());
  std::int64_t at = 0;
  bool too_large = false;
  if (records <= 0) return AppendStatus::kCorrupt;
  for (std::int64_t i = 0; i < records; i++) {
    if (size - at < 4) return AppendStatus::kCorrupt;
    const std::int64_t length = SignedAt(wire, at);
    if (length < 1 || length > size - at - 4) return AppendStatus::kCorrupt;
    too_large = too_large || length > longest;
    at += 4 + length;
  }
  if (at != size) return AppendStatus::kCorrupt;
  return too_large ? AppendStatus::kTooLarge : AppendStatus::kOk;
}

inline Bytes StoredAs(const Bytes& wire, bool summed) {
  Bytes stored;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(wire.size());) {
    const std::int64_t next = at + 4 + SignedAt(wire, at);
    const std::size_t head = stored.size();
    stored.resize(head + static_cast<std::size_t>(HeaderBytes(summed)));
    PutAt(&stored, static_cast<std::int64_t>(head), static_cast<std::uint32_t>(next - at - 4));
    if (summed) PutAt(&stored, static_cast<std::int64_t>(head) + 4, PlainCrc32c(wire, at + 4, next));
    stored.insert(stored.end(), wire.begin() + at + 4, wire.begin() + next);
    at = next;
  }
  return stored;
}

}  // namespace millrace::fuzz
