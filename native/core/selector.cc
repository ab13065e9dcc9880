// The turn: first what was left over, then what is ready now; each connection is read at most once in a turn.

#include "core/selector.h"

#include <algorithm>
#include <utility>

#include "core/socket.h"

namespace millrace {

namespace counter = selector_counter;

namespace {
// A turn receives for so long at most; the rest waits for the next one, so that timers and completions get
// their turn too.
constexpr std::int64_t kTurnUs = 5000;
constexpr std::uint32_t kReadsBetweenClocks = 8;
// How long a connection whose end we began may go on sending before it is closed under its hands.
constexpr std::int64_t kLingerMs = 1000;
}  // namespace

Selector::Selector(const SelectorOptions& options, const SelectorTables& tables, WorkerPool& reads,
                   CompletionQueue& completions, std::function<void()> on_work)
    : options_(options),
      tables_(tables),
      on_work_(std::move(on_work)),
      connections_(options.connections_max),
      intake_(tables.arena, tables.arena_bytes, tables.frames, tables.frames_max, options.max_frame_bytes,
              options.requests_max),
      cold_(reads, completions,
            [this](std::int32_t id, ColdOutcome outcome, off_t until, int error) {
              OnWarm(id, outcome, until, error);
            }),
      outlet_(cold_, failures_, options.zero_copy, options.turn_bytes_out, options.send_us, tables.counters),
      linger_ms_(kLingerMs),
      events_(new PollEvent[Poller::kEventsMax]),
      dropped_(new std::uint8_t[kDroppedBytes]) {}

Selector::~Selector() {
  if (!destroyed_) Destroy();
}

SysError Selector::Open() {
  IgnoreSigpipe();
  return poller_.Open();
}

Selector::Rows Selector::BeginTurn(int timeout_ms) {
  turn_++;
  turn_began_us_ = MonotonicUs();
  now_ms_ = turn_began_us_ / 1000;
  reads_since_clock_ = 0;
  out_of_time_ = false;
  opened_ = 0;
  intake_.Reset();
  outlet_.NextTurn(turn_, turn_began_us_);
  CheckQueued();  // what the caller holds for later counts too, and it may have become less

  const bool busy = NeedsTurn();
  PumpLate();
  WorkBacklog();
  const int ready = poller_.Wait(events_.get(), busy ? 0 : timeout_ms);
  if (timeout_ms != 0) {
    turn_began_us_ = MonotonicUs();
    outlet_.GoOn(turn_began_us_, false);
  }
  for (int i = 0; i < ready; i++) Dispatch(events_[i]);

  LetOldestGatherOn();
  reported_ = ReportClosings();
  Publish();
  return {intake_.rows(), opened_, reported_};
}

void Selector::EndTurn() {
  if (destroyed_) return;
  for (std::uint32_t i = 0; i < reported_; i++) {
    if (closings_[i].reason != CloseReason::kInputEnded) connections_.GiveBack(closings_[i].id);
  }
  closings_.erase(closings_.begin(), closings_.begin() + reported_);
  reported_ = 0;
  double* const counters = tables_.counters;
  counters[counter::kTurns] += 1;
  const auto took = static_cast<double>(MonotonicUs() - turn_began_us_);
  counters[counter::kLongestTurnUs] = std::max(counters[counter::kLongestTurnUs], took);
  CheckQueued();  // what the caller holds for later has changed in this turn
  LetOldestGatherOn();
  Publish();
}

std::uint32_t Selector::ReportClosings() {
  const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(closings_.size(), tables_.closed_max));
  for (std::uint32_t i = 0; i < count; i++) {
    tables_.closed[2 * i] = closings_[i].id;
    tables_.closed[2 * i + 1] = static_cast<std::int32_t>(closings_[i].reason);
  }
  return count;
}

void Selector::Dispatch(const PollEvent& event) {
  if (event.token >= kDoorToken) {
    const std::uint64_t index = event.token - kDoorToken;
    if (index < doors_.size()) AcceptFrom(doors_[index]);
    return;
  }
  const auto id = static_cast<std::int32_t>(event.token);
  Connection* c = connections_.Find(id);
  if (c == nullptr) return;
  if ((event.ready & ready::kWrite) != 0) {
    PumpOut(*c);
    c = connections_.Find(id);
    if (c == nullptr) return;
  }
  if ((event.ready & ~ready::kWrite) != 0) OnReadable(*c, event.ready);
}

void Selector::OnReadable(Connection& c, std::uint8_t ready) {
  if (c.state == ConnectionState::kLingering) {
    Discard(c);
  } else if (c.read_turn == turn_ || c.in_backlog) {
    // It had its share of this turn. What is left is reported again, where not only news are.
    if (c.pause == Pause::kForRest) PushBacklog(c);
  } else if (!MayTake(c) || MayReceive(c) == Receives::kNothing) {
    Quiet(c, ready);
  } else {
    ReadFrom(c);
  }
}

/** It is ready and not to be read. Level-triggered, this would come again and again, so it is not watched any
 * more. */
void Selector::Quiet(Connection& c, std::uint8_t ready) {
  if ((ready & ready::kError) != 0) {
    // Nobody is left to take an answer.
    return CloseBroken(c, SocketError(c.fd.get()));
  }
  // A hang-up is reported whether it is watched for or not. What came before it may still be read later.
  const bool hung_up = (ready & ready::kHangup) != 0;
  Watch(c, hung_up ? interest::kUnwatched : static_cast<std::uint8_t>(c.watched & interest::kWrite));
  if (c.peer_done) return;
  if (MayTake(c)) return PauseReading(c, Pause::kForRoom);
  if (crowded_) PauseReading(c, Pause::kForAnswers);
}

bool Selector::OutOfTime() {
  if (!out_of_time_ && ++reads_since_clock_ >= kReadsBetweenClocks) {
    reads_since_clock_ = 0;
    out_of_time_ = MonotonicUs() - turn_began_us_ > kTurnUs;
  }
  return out_of_time_;
}

void Selector::ReadFrom(Connection& c) {
  if (intake_.full() || OutOfTime()) return PushBacklog(c);
  const Receives receives = MayReceive(c);
  std::size_t budget = receives == Receives::kNothing ? 0 : options_.turn_bytes_in;
  if (receives == Receives::kRestOfFrame) {
    const std::size_t total = std::max(FrameTotal(c.gather.data(), c.gather.size()), kFramePrefixBytes);
    budget = std::min(budget, total - std::min(total, c.gather.size()));
  }
  c.read_turn = turn_;
  c.pause = Pause::kNone;
  IntakeResult result = intake_.Read(c, budget, now_ms_, receives == Receives::kWholeFrames);
  if (result.left == Left::kLargePart && !paused_ && !gathers_full_) {
    // There is room for it. Its prefix is taken, and from then on it is the frame that is gathered.
    result = intake_.Read(c, kFramePrefixBytes, now_ms_);
  }
  if (result.received > 0) {
    tables_.counters[counter::kBytesIn] += static_cast<double>(result.received);
    c.active_ms = now_ms_;
  }
  c.held = result.stop == IntakeStop::kRequests;
  switch (result.stop) {
    case IntakeStop::kWait:
      if (c.peer_done) break;
      if (budget > 0) {
        if (result.left == Left::kPart) PauseReading(c, Pause::kForRest);
        if (result.left == Left::kLargePart) PauseReading(c, Pause::kForRoom);
      } else if (MayReceive(c) != Receives::kNothing) {
        PushBacklog(c);  // whole frames that it held back are gone, so it is read again
      } else {
        PauseReading(c, Pause::kForRoom);
      }
      break;
    case IntakeStop::kBacklog:
      PushBacklog(c);
      break;
    case IntakeStop::kRequests:
      if (crowded_) PauseReading(c, Pause::kForAnswers);
      break;
    case IntakeStop::kEndOfStream:
      c.peer_done = true;
      TellInputEnded(c);
      Watch(c, static_cast<std::uint8_t>(c.watched & ~interest::kRead));
      break;
    case IntakeStop::kBadLength:
      c.state = ConnectionState::kAnswering;
      c.reason = CloseReason::kBadFrameLength;
      c.gather.Release();
      TellInputEnded(c);
      break;
    case IntakeStop::kError:
      return CloseBroken(c, result.error);
  }
  SetGathering(c, result.stop == IntakeStop::kWait && !c.gather.empty() && !c.peer_done);
  Recount(c);
  Rearm(c);
  SettleEnd(c);
  CheckQueued();
}

/** What it holds back is handed over in the next turn, when it may be. */
void Selector::GoOnWithHeld(Connection& c) {
  if (!c.held || !MayTake(c)) return;
  c.held = false;
  if (c.gather.empty()) return;
  // A frame that could not go on because of us gets its whole time again.
  c.frame_since_ms = now_ms_;
  PushBacklog(c);
}

/** Who waits for an answer that may take its time should not hold a connection for somebody who is gone. */
void Selector::TellInputEnded(const Connection& c) {
  if (c.open > 0) closings_.push_back({c.id, CloseReason::kInputEnded});
}

void Selector::WorkBacklog() {
  working_.swap(backlog_);
  for (const std::int32_t id : working_) {
    Connection* const c = connections_.Find(id);
    if (c == nullptr) continue;
    c->in_backlog = false;
    if (MayTake(*c)) {
      ReadFrom(*c);
    } else {
      c->held = true;
      if (crowded_) PauseReading(*c, Pause::kForAnswers);
    }
  }
  working_.clear();
}

void Selector::OnWarm(std::int32_t id, ColdOutcome outcome, off_t until, int error) {
  if (destroyed_) return;
  Connection* const c = connections_.Find(id);
  if (c == nullptr || c->sending != Sending::kCold) return;
  now_ms_ = MonotonicUs() / 1000;
  c->progress_ms = now_ms_;  // the wait was for our disk
  const bool is_short = outcome == ColdOutcome::kFileShort;
  if (outcome == ColdOutcome::kRead) {
    c->warm_until = until;
  } else if (!outlet_.ReplaceNext(*c, until, is_short ? SliceFailure::kFileEnded : error)) {
    CloseNow(*c, is_short ? CloseReason::kFileShort : CloseReason::kFileError);
    return on_work_();
  }
  c->sending = Sending::kLate;
  PushLate(*c);
  on_work_();
}

}  // namespace millrace
