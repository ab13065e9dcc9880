// Cuts a stream into frames by their length prefix, and knows nothing else about them.
//
//   frame:  int32 length, big-endian, 1 … max | length bytes
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bytes.h"

namespace millrace {

constexpr std::size_t kFramePrefixBytes = 4;

enum class CutStop {
  /** What is left is the beginning of a frame, or nothing. */
  kIncomplete,
  /** Another whole frame is there, but no row for it. */
  kFull,
  /** The next prefix is outside 1 … max. Nobody knows where a frame starts after it. */
  kBadLength,
};

struct CutResult {
  /** How many bytes the frames take, prefixes included. */
  std::size_t bytes;
  std::uint32_t frames;
  CutStop stop;
};

/**
 * Cuts what lies at `data`. A row is written for each whole frame: `connection`, `base` plus where its
 * contents begin in `data`, its length. At most `rows_max` of them.
 */
CutResult CutFrames(const std::uint8_t* data, std::size_t bytes, std::uint32_t max_frame_bytes,
                    std::int32_t connection, std::size_t base, std::int32_t* rows, std::uint32_t rows_max);

/** What the frame at `data` takes in all, by its prefix; 0 while the prefix is not complete. */
inline std::size_t FrameTotal(const std::uint8_t* data, std::size_t bytes) {
  return bytes < kFramePrefixBytes ? 0 : kFramePrefixBytes + LoadBigEndian32(data);
}

}  // namespace millrace
