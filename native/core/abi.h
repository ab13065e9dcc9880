// Numbers that cross the boundary to JavaScript. src/native/binding.ts has the same; a test compares the two
// through the addon's `abi()`.
#pragma once

#include <cstdint>

namespace millrace {

enum class SegmentMode : std::uint32_t { kFileChannel = 0, kMapped = 1 };
constexpr std::uint32_t kSegmentModes = 2;

enum class RecordFormatId : std::uint32_t { kPlain = 0, kCrc32c = 1 };
constexpr std::uint32_t kRecordFormats = 2;

enum class ScanStop : std::uint32_t { kEnd = 0, kZeroPrefix = 1, kTorn = 2, kBadLength = 3, kBadSum = 4 };

enum class AppendStatus : std::int32_t { kOk = 0, kCorrupt = 1, kTooLarge = 2, kNoRoom = 3, kIoError = 4 };

/** A row of the append table, int32 each. */
namespace append_column {
constexpr std::uint32_t kWriter = 0;
constexpr std::uint32_t kSource = 1;
constexpr std::uint32_t kOffset = 2;
constexpr std::uint32_t kBytes = 3;
constexpr std::uint32_t kRecords = 4;
constexpr std::uint32_t kStatus = 5;
constexpr std::uint32_t kEnd = 6;
constexpr std::uint32_t kErrno = 7;
}  // namespace append_column
constexpr std::uint32_t kAppendColumns = 8;

/** A row of the index output: (row of the append table, record inside that batch, position), uint32 each. */
constexpr std::uint32_t kIndexOutColumns = 3;

/** Why a walk over received records stopped. */
enum class WalkStop : std::uint32_t {
  /** There is no room for another range. */
  kFull = 0,
  /** The bytes end where a record ends. */
  kEnd = 1,
  /** The beginning of a record is all there is of it. */
  kCut = 2,
  kBadLength = 3,
  kBadSum = 4,
};

/** What such a walk found, uint32 each. */
namespace walk_column {
constexpr std::uint32_t kRecords = 0;
constexpr std::uint32_t kStop = 1;
constexpr std::uint32_t kPosition = 2;
constexpr std::uint32_t kCutRecordBytes = 3;
}  // namespace walk_column
constexpr std::uint32_t kWalkColumns = 4;

/** Positions cross the boundary as int32, so a segment is at most this long. */
constexpr std::uint32_t kSegmentBytesMax = 1u << 30;

}  // namespace millrace
