// Who may be read, and what the poller is told about it. Interest in reading is taken back lazily: only when
// the poller reports a connection that is not to be read. Most pauses end before that, and cost no system
// call.

#include <algorithm>

#include "core/selector.h"

namespace millrace {

namespace counter = selector_counter;

namespace {
// A bound that was reached holds until a quarter of it is free again, or sockets would be paused and resumed
// for each frame.
constexpr double kResumeBelow = 0.75;
// Frames that are not complete may take this much of the bound. The rest is for requests that are whole and
// for their answers, so that no number of slow senders keeps others from being served.
constexpr double kGatherShare = 0.75;
// When requests fill this much of it, whole or not, a connection may have so few of them open. A thousand of
// each were in everybody's way before, as answers leave in order: behind one that its peer does not take all
// the others wait, however many there are. A quarter, since answers may take one and a turn's worth comes on
// top; and of what fetches leave that wait for records and for nothing else, whose peers do no wrong.
constexpr double kCrowdedShare = 0.25;
constexpr std::uint32_t kCrowdedRequests = 16;
}  // namespace

/** Whether more requests of it may be handed over. */
bool Selector::MayTake(const Connection& c) const {
  return c.state == ConnectionState::kOpen && c.open < intake_.requests_max() && !c.output_full;
}

/**
 * What of it may be received, as far as others are concerned. Where gathered frames have no more room, one
 * that holds nothing is still read as long as nothing has to be kept of it, and one that is in the middle of
 * a small frame goes on with it: clients that only have small requests should not notice who fills the room.
 * Where requests crowd, what a connection may not hand over yet stays in its socket.
 */
Selector::Receives Selector::MayReceive(const Connection& c) const {
  if (c.peer_done) return Receives::kNothing;
  if (crowded_ && !paused_ && !gathers_full_) {
    return c.gather.empty() ? Receives::kWholeFrames : Receives::kRestOfFrame;
  }
  if (!paused_ && !gathers_full_) return Receives::kAll;
  if (&c == oldest_) return Receives::kRestOfFrame;
  if (paused_) return Receives::kNothing;
  if (c.gather.empty()) return Receives::kWholeFrames;
  const std::size_t total = FrameTotal(c.gather.data(), c.gather.size());
  return total != 0 && total <= Intake::kWholeBytes ? Receives::kRestOfFrame : Receives::kNothing;
}

void Selector::Watch(Connection& c, std::uint8_t to) {
  if (to == c.watched) return;
  (void)poller_.Watch(c.fd.get(), static_cast<std::uint64_t>(c.id), c.watched, to);
  c.watched = to;
}

void Selector::Rearm(Connection& c) {
  if (!c.alive() || c.state == ConnectionState::kLingering) return;
  const bool writes = c.sending == Sending::kBlocked;
  // Where it may not be taken of, what was watched for stays: mostly it may again before anything comes.
  bool reads = c.watched != interest::kUnwatched && (c.watched & interest::kRead) != 0;
  bool only_news = false;
  if (MayTake(c) && !c.peer_done) {
    if (c.pause == Pause::kNone || c.pause == Pause::kForAnswers) reads = true;
    if (c.pause == Pause::kForRoom && &c != oldest_) reads = false;
    // Not while it writes, for which a poller that tells only news is not enough. It comes back here
    // afterwards.
    if (c.pause == Pause::kForRest) reads = only_news = !writes;
  }
  const auto to = static_cast<std::uint8_t>((reads ? interest::kRead : 0) | (writes ? interest::kWrite : 0) |
                                            (only_news ? interest::kOnlyNews : 0));
  if (to == interest::kNone && c.watched == interest::kUnwatched) return;
  Watch(c, to);
}

void Selector::PushBacklog(Connection& c) {
  if (c.in_backlog) return;
  c.in_backlog = true;
  backlog_.push_back(c.id);
}

void Selector::PauseReading(Connection& c, Pause pause) {
  c.pause = pause;
  if (c.in_paused) return;
  c.in_paused = true;
  paused_ids_.push_back(c.id);
}

/** `all` false: those only that hold nothing. */
void Selector::ResumePaused(bool all) {
  std::size_t left = 0;
  for (const std::int32_t id : paused_ids_) {
    Connection* const c = connections_.Find(id);
    if (c == nullptr || !c->in_paused) continue;
    if (!all && !c->gather.empty()) {
      paused_ids_[left++] = id;
      continue;
    }
    c->in_paused = false;
    c->pause = Pause::kNone;
    GoOnWithHeld(*c);
    Rearm(*c);
  }
  paused_ids_.resize(left);
}

/** Or who comes and goes while it is paused would leave an id for each time. */
void Selector::ForgetPausedEnds() {
  const auto is_gone = [this](std::int32_t id) {
    const Connection* const c = connections_.Find(id);
    return c == nullptr || !c->in_paused;
  };
  paused_ids_.erase(std::remove_if(paused_ids_.begin(), paused_ids_.end(), is_gone), paused_ids_.end());
}

void Selector::SetGathering(Connection& c, bool gathering) {
  if (gathering == c.gathering) return;
  c.gathering = gathering;
  if (gathering) {
    c.older = youngest_;
    (youngest_ != nullptr ? youngest_->younger : oldest_) = &c;
    youngest_ = &c;
  } else {
    (c.older != nullptr ? c.older->younger : oldest_) = c.younger;
    (c.younger != nullptr ? c.younger->older : youngest_) = c.older;
    c.older = c.younger = nullptr;
  }
}

void Selector::Recount(Connection& c) {
  // By what they take, which may be more than what they hold. Unsigned, so that less is right as well.
  gathered_ += c.gather.capacity() - c.counted_gather;
  output_ += c.out.held() - c.counted_out;
  c.counted_gather = c.gather.capacity();
  c.counted_out = c.out.held();
}

/** The bound on what waits to be sent on one connection. */
void Selector::CheckOutput(Connection& c) {
  const auto queued = static_cast<double>(c.out.held());
  const auto bound = static_cast<double>(options_.connection_queued_bytes_max);
  if (queued >= bound) {
    c.output_full = true;
    // It does not go on with its frame, so it must not be the one that others wait for.
    if (!c.gather.empty()) c.held = true;
    SetGathering(c, false);
  } else if (queued < bound * kResumeBelow) {
    c.output_full = false;
  }
}

double Selector::Queued() const {
  return static_cast<double>(gathered_) + static_cast<double>(output_) +
         tables_.counters[counter::kExternalQueuedBytes];
}

/** Pauses at the bound on all queued bytes, and at that on gathered ones; resumes below three quarters of it.
 */
void Selector::CheckQueued() {
  const auto gathered = static_cast<double>(gathered_);
  const double bound = options_.queued_bytes_max;
  const bool was_paused = paused_;
  const bool was_full = gathers_full_;
  const bool was_crowded = crowded_;
  paused_ = Queued() >= (was_paused ? bound * kResumeBelow : bound);
  gathers_full_ = gathered >= bound * kGatherShare * (was_full ? kResumeBelow : 1);
  const double waiting = tables_.counters[counter::kExternalWaitingBytes];
  const double requests = gathered + tables_.counters[counter::kExternalQueuedBytes] - waiting;
  crowded_ = requests >= (bound - waiting) * kCrowdedShare * (was_crowded ? kResumeBelow : 1);
  intake_.set_requests_max(crowded_ ? std::min(kCrowdedRequests, options_.requests_max)
                                    : options_.requests_max);
  if ((paused_ || gathers_full_) && !was_paused && !was_full) tables_.counters[counter::kPauses] += 1;
  const bool eased = was_paused || was_full || (was_crowded && !crowded_);
  if (paused_ || !eased) return;
  if (!gathers_full_)
    ResumePaused(true);
  else if (was_paused)
    ResumePaused(false);
}

/** Without this, frames that are half there could fill the bound and wait for each other for ever. */
void Selector::LetOldestGatherOn() {
  if ((!paused_ && !gathers_full_) || oldest_ == nullptr || (oldest_->watched & interest::kRead) != 0) return;
  oldest_->pause = Pause::kNone;
  const std::uint8_t others = oldest_->watched == interest::kUnwatched ? interest::kNone : oldest_->watched;
  Watch(*oldest_, others | interest::kRead);
}

std::size_t Selector::QueuedBytes(std::int32_t id) {
  Connection* const c = connections_.Find(id);
  return c != nullptr ? c->out.bytes() : 0;
}

/** Where the caller sees it. */
void Selector::Publish() {
  double* const counters = tables_.counters;
  counters[counter::kGatheredBytes] = static_cast<double>(gathered_);
  counters[counter::kOutputBytes] = static_cast<double>(output_);
  counters[counter::kConnections] = live_;
}

}  // namespace millrace
