// The ways to an end. Ours is gentle by default: what is queued is sent, our side is shut, and what the peer
// still sends is read and dropped for a while. Closing a socket with unread bytes in it makes the kernel send
// a reset, and a reset destroys answers that the peer has not read yet.

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "core/selector.h"
#include "core/socket.h"

namespace millrace {

void Selector::Close(std::int32_t id, bool now) {
  Connection* const c = connections_.Find(id);
  if (c == nullptr) return;
  now_ms_ = MonotonicUs() / 1000;
  if (now) {
    CloseNow(*c, c->state == ConnectionState::kOpen ? CloseReason::kLocal : c->reason);
  } else if (c->takes_replies()) {
    if (c->state == ConnectionState::kOpen) c->reason = CloseReason::kLocal;
    c->state = ConnectionState::kClosing;
    c->gather.Release();
    SetGathering(*c, false);
    Recount(*c);
    SettleEnd(*c);
  }
  LetOldestGatherOn();
  Publish();
}

/** Goes on towards the end, when what it waits for has come. */
void Selector::SettleEnd(Connection& c) {
  if (!c.alive() || !c.out.empty()) return;
  if (c.state == ConnectionState::kClosing || (c.state == ConnectionState::kAnswering && c.open == 0)) {
    BeginLinger(c);
  } else if (c.state == ConnectionState::kOpen && c.peer_done && c.open == 0 && !c.held && !c.in_backlog) {
    // Nothing is unread here, so closing sends no reset.
    CloseNow(c, CloseReason::kPeer);
  }
}

void Selector::BeginLinger(Connection& c) {
  if (c.peer_done || linger_ms_ <= 0) return CloseNow(c, c.reason);
  shutdown(c.fd.get(), SHUT_WR);
  c.state = ConnectionState::kLingering;
  c.linger_until_ms = now_ms_ + linger_ms_;
  Watch(c, interest::kRead);
}

void Selector::Discard(Connection& c) {
  // One receive: the peer may send as fast as it likes, it gets the attention of anybody else.
  const ssize_t got = ReceiveBytes(c.fd.get(), dropped_.get(), kDroppedBytes);
  if (got == 0 || (got < 0 && !IsAgain(static_cast<int>(-got)))) CloseNow(c, c.reason);
}

/** The socket failed. Why the connection was to end anyway is the better reason, if there is one. */
void Selector::CloseBroken(Connection& c, int error) {
  if (c.state != ConnectionState::kOpen) return CloseNow(c, c.reason);
  CloseNow(c, IsPeerGone(error) ? CloseReason::kPeer : CloseReason::kSocketError);
}

void Selector::CloseNow(Connection& c, CloseReason reason) {
  // Told to the poller as well: a child process that was being started could hold the descriptor a moment
  // longer.
  Watch(c, interest::kUnwatched);
  c.fd.Reset();
  SetGathering(c, false);
  c.gather.Release();
  if (c.sending == Sending::kCold) cold_.Forget(c.cold_ticket);
  c.out.TakeFiles([this](FilePtr file) { cold_.Release(std::move(file)); });
  c.out.Clear();
  Recount(c);
  const std::int32_t id = c.id;
  c.state = ConnectionState::kClosed;
  c.sending = Sending::kIdle;
  c.pause = Pause::kNone;
  c.part = c.peer_done = c.held = c.output_full = c.in_backlog = c.in_paused = c.in_late = false;
  c.dropping = false;
  c.open = 0;
  c.warm_until = 0;
  c.in_socket = -1;
  closings_.push_back({id, reason});
  live_--;
  ResumeDoors();
}

void Selector::Sweep() {
  now_ms_ = MonotonicUs() / 1000;
  for (std::uint32_t slot = 0; slot < connections_.slots(); slot++) {
    Connection& c = connections_.at(slot);
    if (c.alive()) SweepConnection(c);
  }
  ForgetPausedEnds();
  // Descriptors may have come free elsewhere in the process.
  ResumeDoors();
  CheckQueued();
  if (paused_) Shed();
  LetOldestGatherOn();
  Publish();
}

void Selector::SweepConnection(Connection& c) {
  if (c.state == ConnectionState::kLingering) {
    if (now_ms_ >= c.linger_until_ms) CloseNow(c, c.reason);
    return;
  }
  // A slice that waits for the disk or for its turn is no fault of the peer.
  const bool stalled = !c.out.empty() && c.sending == Sending::kBlocked;
  if (stalled && now_ms_ - c.progress_ms > options_.write_stall_ms)
    return CloseNow(c, CloseReason::kWriteStall);
  // Neither is a frame that is not received because of its own unanswered requests, or that lies in its
  // socket where nobody looks; the bound on all queued bytes is no excuse for one that is gathered, or
  // whoever fills it slowly could keep it for ever.
  const bool goes_on = MayTake(c) && (!c.gather.empty() || (c.watched & interest::kRead) != 0);
  const bool incomplete = c.part && !c.held && !c.in_backlog && !c.peer_done;
  if (c.part && !goes_on) {
    c.frame_since_ms = now_ms_;
  } else if (incomplete && now_ms_ - c.frame_since_ms > options_.frame_timeout_ms) {
    return CloseNow(c, CloseReason::kFrameTimeout);
  }
  if (!c.gather.empty()) return;
  c.gather.Release();
  Recount(c);
  const bool idle = c.state == ConnectionState::kOpen && c.open == 0 && c.out.empty();
  if (options_.idle_ms > 0 && idle && now_ms_ - c.active_ms > options_.idle_ms)
    CloseNow(c, CloseReason::kIdle);
}

void Selector::Finish(std::int64_t linger_ms) {
  finishing_ = true;
  now_ms_ = MonotonicUs() / 1000;
  linger_ms_ = linger_ms;
  StopListening();
  for (std::uint32_t slot = 0; slot < connections_.slots(); slot++) {
    Connection& c = connections_.at(slot);
    if (!c.alive()) continue;
    c.linger_until_ms = std::min(c.linger_until_ms, now_ms_ + linger_ms);
    Close(c.id, false);
  }
}

void Selector::Destroy() {
  StopListening();
  for (std::uint32_t slot = 0; slot < connections_.slots(); slot++) {
    Connection& c = connections_.at(slot);
    if (c.alive()) CloseNow(c, CloseReason::kLocal);
  }
  Publish();
  cold_.Clear();
  backlog_.clear();
  late_slices_.clear();
  late_bytes_.clear();
  closings_.clear();
  reported_ = 0;
  destroyed_ = true;
}

}  // namespace millrace
