// The selector's numbers that cross the boundary to JavaScript. src/native/binding.ts has the same; a test
// compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace {

/** A row of the frame table, int32 each. */
namespace frame_column {
constexpr std::uint32_t kConnection = 0;
constexpr std::uint32_t kOffset = 1;
constexpr std::uint32_t kLength = 2;
}  // namespace frame_column
constexpr std::uint32_t kFrameColumns = 3;

/** A row of the flush table, int32 each. */
namespace flush_column {
constexpr std::uint32_t kConnection = 0;
constexpr std::uint32_t kOffset = 1;
constexpr std::uint32_t kLength = 2;
constexpr std::uint32_t kCompleted = 3;
constexpr std::uint32_t kFile = 4;
constexpr std::uint32_t kPosition = 5;
constexpr std::uint32_t kSliceBytes = 6;
constexpr std::uint32_t kHead = 7;
constexpr std::uint32_t kInstead = 8;
constexpr std::uint32_t kContinues = 9;
}  // namespace flush_column
constexpr std::uint32_t kFlushColumns = 10;

enum class CloseReason : std::int32_t {
  kPeer = 0,
  kBadFrameLength = 1,
  kFrameTimeout = 2,
  kWriteStall = 3,
  kIdle = 4,
  kSocketError = 5,
  kLocal = 6,
  kFileShort = 7,
  kFileError = 8,
  /** No end: nothing more will be taken from the peer, and requests of it are open. Reported once, before its
     end. */
  kInputEnded = 9,
  /** Reading was paused by the bound on all queued bytes, it held more than its part, and its peer took
     nothing. */
  kShed = 10,
};

/** Slots of the shared counters, double each. */
namespace selector_counter {
constexpr std::uint32_t kExternalQueuedBytes = 0;
constexpr std::uint32_t kGatheredBytes = 1;
constexpr std::uint32_t kOutputBytes = 2;
constexpr std::uint32_t kConnections = 3;
constexpr std::uint32_t kAccepted = 4;
constexpr std::uint32_t kBytesIn = 5;
constexpr std::uint32_t kBytesOut = 6;
constexpr std::uint32_t kSendfileCalls = 7;
constexpr std::uint32_t kSendfileBytes = 8;
constexpr std::uint32_t kHeapBytes = 9;
constexpr std::uint32_t kColdReads = 10;
constexpr std::uint32_t kPauses = 11;
constexpr std::uint32_t kListenerPauses = 12;
constexpr std::uint32_t kTurns = 13;
constexpr std::uint32_t kLongestTurnUs = 14;
constexpr std::uint32_t kFileFailures = 15;
constexpr std::uint32_t kShed = 16;
constexpr std::uint32_t kExternalWaitingBytes = 17;
}  // namespace selector_counter
constexpr std::uint32_t kSelectorCounters = 18;

// A connection id: 20 bits of slot below 11 bits of generation, positive as an int32.
constexpr std::uint32_t kSlotBits = 20;
constexpr std::uint32_t kSlotsMax = 1u << kSlotBits;
constexpr std::uint32_t kGenerations = 1u << 11;

/** Frames of one connection that may be open at most: COMPLETED of a row stays small and a turn's table
 * bounded. */
constexpr std::uint32_t kRequestsLimit = 65536;

}  // namespace millrace
