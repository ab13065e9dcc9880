// What is known about one connection. Plain data: the intake fills `gather`, the outlet drains `out`, the
// selector decides. An idle one holds no buffer at all, so ten thousand of them are cheap.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/byte_buffer.h"
#include "core/fd.h"
#include "core/output_queue.h"
#include "core/poller.h"
#include "core/selector_abi.h"

namespace millrace {

enum class ConnectionState : std::uint8_t {
  /** Nobody's: the slot was never used, or its last owner's end was reported. */
  kFree,
  kOpen,
  /** Not read any more (its stream makes no sense from here on); closes when what was cut has been answered
     and sent. */
  kAnswering,
  /** Takes no more replies; closes when what is queued has been sent. */
  kClosing,
  /** Our side is shut. What still comes is read and dropped, so that no reset destroys the last answer on its
     way. */
  kLingering,
  /** Closed; its end has still to be reported. */
  kClosed,
};

enum class Sending : std::uint8_t {
  /** Nothing waits. */
  kIdle,
  /** The socket took less than there is. */
  kBlocked,
  /** It had its share of this turn, or came when there was no more to share; it is in a list of those that go
     on. */
  kLate,
  /** The pages of a slice are being read in. */
  kCold,
  /** The socket or a file failed; `failure` says which. */
  kFailed,
};

/** How a bound on all queued bytes keeps a connection from being read. */
enum class Pause : std::uint8_t {
  kNone,
  /** Until there is room. */
  kForRoom,
  /** What lies in its socket is not a whole frame, which is all that may be taken; until more has come. */
  kForRest,
  /** Until some of its requests are answered, because it has as many open as it may while requests crowd. */
  kForAnswers,
};

struct Connection {
  Fd fd;
  std::int32_t id = 0;
  ConnectionState state = ConnectionState::kFree;
  Sending sending = Sending::kIdle;
  /** Why it is ending, from kAnswering on. */
  CloseReason reason = CloseReason::kLocal;
  /** What failed, with kFailed. */
  CloseReason failure = CloseReason::kSocketError;
  /** What the poller watches for now. */
  std::uint8_t watched = interest::kUnwatched;

  /** The peer sent all it will send. */
  bool peer_done = false;
  /** Bytes that arrived must wait until requests are completed or output is sent. */
  bool held = false;
  /** Its output reached the bound and did not fall far enough since. */
  bool output_full = false;
  bool in_backlog = false;
  /** The beginning of a frame is there, in `gather` or in the socket, since `frame_since_ms`. */
  bool part = false;
  /** In the list of those that a bound on all queued bytes keeps from being read as usual. */
  bool in_paused = false;
  Pause pause = Pause::kNone;
  /** In a list of those that send first in the next turn. */
  bool in_late = false;
  bool gathering = false;
  /** An answer gave way to another one, and rows of it may still come: they are not sent. */
  bool dropping = false;

  /** Requests that were cut and not completed. */
  std::uint32_t open = 0;
  /** The turn in which it was read last: once in a turn is its share. */
  std::uint32_t read_turn = 0;
  std::uint32_t sent_turn = 0;
  std::size_t sent_in_turn = 0;

  /** What arrived and could not be handed over yet: the beginning of a frame, or whole frames that are held
   * back. */
  ByteBuffer gather;
  OutputQueue out;
  /** Up to here in its file the first slice was found or brought into the cache. */
  off_t warm_until = 0;
  /** What was last read in for it ended here. Only compared: the file may be gone. */
  const File* cold_file = nullptr;
  off_t cold_end = 0;
  /** What is being read in for it, with kCold. */
  std::uint64_t cold_ticket = 0;
  /** What of `gather` and `out` is contained in the selector's sums. */
  std::size_t counted_gather = 0;
  std::size_t counted_out = 0;

  std::int64_t frame_since_ms = 0;
  std::int64_t progress_ms = 0;
  /** When its peer was last seen to take something of what its socket holds, and how much that was. */
  std::int64_t taken_ms = 0;
  std::int64_t in_socket = -1;
  std::int64_t active_ms = 0;
  std::int64_t linger_until_ms = 0;

  /** The list of those that gather a frame, oldest first. */
  Connection* older = nullptr;
  Connection* younger = nullptr;

  bool alive() const { return state != ConnectionState::kFree && state != ConnectionState::kClosed; }
  bool takes_replies() const {
    return state == ConnectionState::kOpen || state == ConnectionState::kAnswering;
  }
  void Fail(CloseReason why) {
    sending = Sending::kFailed;
    failure = why;
  }
};

}  // namespace millrace
