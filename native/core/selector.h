// All sockets of a broker, in turns. A turn accepts, receives from every readable connection into one arena,
// cuts frames and reports them in one table; the caller handles the table and flushes its answers from
// another arena, many connections in one call. Whoever drives it (an event loop, a test, a benchmark) watches
// fd() and calls BeginTurn when it is readable or when NeedsTurn() says so. Nothing here blocks, and nothing
// spins: what cannot go on is not watched until it can.
//
//   BeginTurn → the caller reads `frames`, `opened`, `closed` … Flush … → EndTurn
//
// It must not know what a frame means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/cold_reader.h"
#include "core/connection_table.h"
#include "core/intake.h"
#include "core/listener.h"
#include "core/monotonic.h"
#include "core/outlet.h"
#include "core/poller.h"

namespace millrace {

struct SelectorOptions {
  std::uint32_t max_frame_bytes;
  std::uint32_t connections_max;
  std::uint32_t requests_max;
  std::size_t turn_bytes_in;
  std::size_t turn_bytes_out;
  double queued_bytes_max;
  std::size_t connection_queued_bytes_max;
  std::int64_t frame_timeout_ms;
  std::int64_t write_stall_ms;
  /** 0: never. */
  std::int64_t idle_ms;
  bool zero_copy;
  /** How long answers are sent in one go. What is left goes on in the next turn, each connection in its turn.
   */
  std::int64_t send_us = 3000;
};

/** Memory of the caller that both sides read and write; selector_abi.h has the columns. Outlives the
 * selector. */
struct SelectorTables {
  std::uint8_t* arena;
  std::size_t arena_bytes;
  const std::uint8_t* replies;
  std::size_t replies_bytes;
  std::int32_t* frames;
  std::uint32_t frames_max;
  std::int32_t* opened;
  std::uint32_t opened_max;
  std::int32_t* closed;
  std::uint32_t closed_max;
  const std::int32_t* flushes;
  std::uint32_t flushes_max;
  double* counters;
};

class Selector {
 public:
  /** How many rows of the tables are filled. */
  struct Rows {
    std::uint32_t frames = 0;
    std::uint32_t opened = 0;
    std::uint32_t closed = 0;
    bool any() const { return (frames | opened | closed) != 0; }
  };

  /** `on_work` is called when NeedsTurn() became true outside of a turn and of the calls below. */
  Selector(const SelectorOptions& options, const SelectorTables& tables, WorkerPool& reads,
           CompletionQueue& completions, std::function<void()> on_work);
  ~Selector();

  SysError Open();
  SysError Listen(const std::string& host, int port, int* bound);
  SysError ListenUnix(const std::string& path);
  void StopListening();

  int fd() const { return poller_.fd(); }
  Rows BeginTurn(int timeout_ms = 0);
  /** What was reported in this turn is settled: those slots may be used again. */
  void EndTurn();
  /** There is work that waits for no socket. */
  bool NeedsTurn() const {
    return !backlog_.empty() || !late_slices_.empty() || !late_bytes_.empty() || !closings_.empty();
  }

  /** The first row that is out of bounds, or −1. Rows must be checked before they are flushed. */
  std::int64_t CheckFlush(std::uint32_t rows, std::size_t files) const;
  void Flush(std::uint32_t rows, const std::vector<FilePtr>& files);

  void Close(std::int32_t id, bool now);
  std::size_t QueuedBytes(std::int32_t id);
  void Sweep();
  void Finish(std::int64_t linger_ms);
  /** Slices that could not be read since this was asked last. */
  std::vector<SliceFailure> TakeFileFailures() { return failures_.Take(); }
  bool has_file_failures() const { return failures_.any(); }
  bool finished() const { return finishing_ && live_ == 0 && closings_.empty(); }
  /** Closes everything without a report. Nothing may be called afterwards. */
  void Destroy();
  /** The caller's tables are gone: only Destroy may follow. */
  void ForgetTables() { tables_.counters = own_counters_; }

  bool listening() const { return !doors_.empty(); }
  std::uint32_t connections() const { return live_; }
  std::uint32_t flushes_max() const { return tables_.flushes_max; }

 private:
  /** Tokens of listeners lie above those of connections, which are int32. */
  static constexpr std::uint64_t kDoorToken = 1ull << 32;
  static constexpr std::size_t kDroppedBytes = 64 * 1024;

  struct Closing {
    std::int32_t id;
    CloseReason reason;
  };
  struct Door {
    Listener listener;
    std::uint8_t watched = interest::kUnwatched;
  };

  // selector.cc: the turn
  void Dispatch(const PollEvent& event);
  void OnReadable(Connection& c, std::uint8_t ready);
  void Quiet(Connection& c, std::uint8_t ready);
  void ReadFrom(Connection& c);
  void TellInputEnded(const Connection& c);
  void GoOnWithHeld(Connection& c);
  void WorkBacklog();
  bool OutOfTime();
  std::uint32_t ReportClosings();
  void OnWarm(std::int32_t id, ColdOutcome outcome, off_t until, int error);

  // selector_accept.cc: listeners
  SysError AddDoor(Listener listener);
  void AcceptFrom(Door& door);
  bool Admit(Fd fd, bool tcp);
  void PauseDoors();
  void ResumeDoors();

  // selector_flush.cc: answers
  void FlushConnection(Connection& c, std::uint32_t begin, std::uint32_t end,
                       const std::vector<FilePtr>& files);
  void PumpOut(Connection& c);
  void PumpLate();
  void PumpNext(std::deque<std::int32_t>* late);
  void PushLate(Connection& c);
  void AfterSend(Connection& c);

  // selector_close.cc: the ways to an end
  void SettleEnd(Connection& c);
  void BeginLinger(Connection& c);
  void Discard(Connection& c);
  void CloseNow(Connection& c, CloseReason reason);
  void CloseBroken(Connection& c, int error);
  void SweepConnection(Connection& c);

  // selector_bounds.cc: who may be read
  enum class Receives { kNothing, kWholeFrames, kRestOfFrame, kAll };
  bool MayTake(const Connection& c) const;
  Receives MayReceive(const Connection& c) const;
  void Rearm(Connection& c);
  void Watch(Connection& c, std::uint8_t to);
  void PushBacklog(Connection& c);
  void PauseReading(Connection& c, Pause pause);
  void ResumePaused(bool all);
  void ForgetPausedEnds();
  void SetGathering(Connection& c, bool gathering);
  void Recount(Connection& c);
  void CheckOutput(Connection& c);
  double Queued() const;
  void CheckQueued();
  void LetOldestGatherOn();
  void Publish();

  // selector_shed.cc: who goes when there is no other way
  void Shed();
  double Holds(const Connection& c) const;
  bool TakesNothing(Connection& c) const;

  const SelectorOptions options_;
  SelectorTables tables_;
  const std::function<void()> on_work_;
  Poller poller_;
  ConnectionTable connections_;
  Intake intake_;
  ColdReader cold_;
  SliceFailures failures_;
  Outlet outlet_;
  std::vector<Door> doors_;

  std::uint32_t turn_ = 0;
  std::int64_t turn_began_us_ = 0;
  std::int64_t now_ms_ = 0;
  std::uint32_t reads_since_clock_ = 0;
  bool out_of_time_ = false;
  std::uint32_t opened_ = 0;
  std::uint32_t reported_ = 0;

  std::uint32_t live_ = 0;
  std::size_t gathered_ = 0;
  std::size_t output_ = 0;
  /** At the bound on all queued bytes. */
  bool paused_ = false;
  /** At what gathered frames may take of it. */
  bool gathers_full_ = false;
  /** Requests fill so much of it that a connection may have only few. */
  bool crowded_ = false;
  bool doors_paused_ = false;
  bool finishing_ = false;
  bool destroyed_ = false;
  std::int64_t linger_ms_;

  std::vector<std::int32_t> backlog_;
  std::vector<std::int32_t> working_;
  std::vector<std::int32_t> paused_ids_;
  /** Those that may be able to send and have not, in the order in which they go on. */
  std::deque<std::int32_t> late_slices_;
  std::deque<std::int32_t> late_bytes_;
  std::vector<Closing> closings_;
  Connection* oldest_ = nullptr;
  Connection* youngest_ = nullptr;
  double own_counters_[kSelectorCounters] = {};
  std::unique_ptr<PollEvent[]> events_;
  std::unique_ptr<std::uint8_t[]> dropped_;
};

}  // namespace millrace
