// The cutting itself. Pure: it allocates nothing and touches only what it is given.

#include "core/frame_cutter.h"

#include "core/selector_abi.h"

namespace millrace {

CutResult CutFrames(const std::uint8_t* data, std::size_t bytes, std::uint32_t max_frame_bytes,
                    std::int32_t connection, std::size_t base, std::int32_t* rows, std::uint32_t rows_max) {
  std::size_t at = 0;
  std::uint32_t frames = 0;
  for (;;) {
    const std::size_t left = bytes - at;
    if (left < kFramePrefixBytes) return {at, frames, CutStop::kIncomplete};
    const std::uint32_t length = LoadBigEndian32(data + at);
    // One comparison for both ends: 0 wraps around, and a negative length is huge.
    if (length - 1 >= max_frame_bytes) return {at, frames, CutStop::kBadLength};
    if (left - kFramePrefixBytes < length) return {at, frames, CutStop::kIncomplete};
    if (frames == rows_max) return {at, frames, CutStop::kFull};
    std::int32_t* row = rows + static_cast<std::size_t>(frames) * kFrameColumns;
    row[frame_column::kConnection] = connection;
    row[frame_column::kOffset] = static_cast<std::int32_t>(base + at + kFramePrefixBytes);
    row[frame_column::kLength] = static_cast<std::int32_t>(length);
    frames++;
    at += kFramePrefixBytes + length;
  }
}

}  // namespace millrace
