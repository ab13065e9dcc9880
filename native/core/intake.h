// Receives from connections into the turn's arena and cuts frames into the turn's table. One for a selector,
// reset each turn. It knows sockets and frames; who may be read and how often is the selector's decision.
//
// A frame that spans turns waits in its connection's gather buffer. While it is incomplete, what arrives is
// appended there and nothing is put back into the arena: a client that sends byte by byte costs one append
// for each byte, not one copy of the frame. Only when the frame is complete is its beginning copied in front
// of its end, once.
//
// Where there is no memory for that, what can be taken are frames that are whole in the socket: they are
// looked at first, and only what was cut is received.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/connection.h"
#include "core/frame_cutter.h"

namespace millrace {

enum class IntakeStop {
  /** Goes on when the socket has more. */
  kWait,
  /** Goes on in the next turn without waiting: the arena or the table is full. */
  kBacklog,
  /** Goes on when requests have been completed. */
  kRequests,
  kEndOfStream,
  kBadLength,
  /** `error` is the errno. */
  kError,
};

enum class Left {
  kNothing,
  /** The beginning of a frame that can be taken as soon as the rest of it is there. */
  kPart,
  /** The beginning of one that is too large to be taken whole. */
  kLargePart,
};

struct IntakeResult {
  IntakeStop stop;
  int error = 0;
  std::size_t received = 0;
  /** With kWait, what was left in the socket because only whole frames were asked for. */
  Left left = Left::kNothing;
};

class Intake {
 public:
  Intake(std::uint8_t* arena, std::size_t arena_bytes, std::int32_t* rows, std::uint32_t rows_max,
         std::uint32_t max_frame_bytes, std::uint32_t requests_max);

  void Reset() { used_ = rows_ = 0; }
  std::uint32_t rows() const { return rows_; }
  /** How many frames of one connection may be open. Not changed while one is read. */
  std::uint32_t requests_max() const { return requests_max_; }
  void set_requests_max(std::uint32_t max) { requests_max_ = max; }
  /**
   * It has a turn's worth, the rest waits. The room for one large frame is not for many small ones, or a turn
   * would walk through more memory than the processor's cache holds.
   */
  bool full() const { return rows_ == rows_max_ || used_ >= turn_bytes_; }

  /**
   * Hands over what `connection` holds back, then receives up to `budget` bytes, if any. `whole_only`:
   * nothing that would have to be kept afterwards.
   */
  IntakeResult Read(Connection& connection, std::size_t budget, std::int64_t now_ms, bool whole_only = false);

  /** The largest frame that is taken with `whole_only`. */
  static constexpr std::size_t kWholeBytes = 64 * 1024;

 private:
  IntakeStop TakeHeld(Connection& connection);
  IntakeResult Receive(Connection& connection, std::size_t budget);
  IntakeResult ReceiveWhole(Connection& connection, std::size_t budget);
  IntakeResult ReceiveStraight(Connection& connection, std::size_t bytes);
  CutStop Cut(Connection& connection, const std::uint8_t* data, std::size_t bytes, std::size_t* taken);
  IntakeStop StopFor(CutStop stop, const Connection& connection) const;

  std::uint8_t* const arena_;
  const std::size_t arena_bytes_;
  const std::size_t turn_bytes_;
  std::int32_t* const table_;
  const std::uint32_t rows_max_;
  const std::uint32_t max_frame_bytes_;
  std::uint32_t requests_max_;
  std::size_t used_ = 0;
  std::uint32_t rows_ = 0;
};

}  // namespace millrace
