// Who may be read, and what the poller is told about it. Interest in reading is taken back lazily: only when
// the poller reports a connection that is not to be read. Most pauses end before that, and cost no system
// call.

#include "core/selector.h"

namespace millrace {

namespace counter = selector_counter;

namespace {
// A bound that was reached holds until a quarter of it is free again, or sockets would be paused and resumed
// for each frame.
constexpr double kResumeBelow = 0.75;
}  // namespace

/** Whether more requests of it may be handed over. */
bool Selector::MayTake(const Connection& c) const {
  return c.state == ConnectionState::kOpen && c.open < options_.requests_max && !c.output_full;
}

/** Whether more bytes of it may be received, as far as others are concerned. */
bool Selector::MayReceive(const Connection& c) const { return !c.peer_done && (!paused_ || &c == oldest_); }

void Selector::Watch(Connection& c, std::uint8_t to) {
  if (to == c.watched) return;
  (void)poller_.Watch(c.fd.get(), static_cast<std::uint64_t>(c.id), c.watched, to);
  c.watched = to;
}

void Selector::Rearm(Connection& c) {
  if (!c.alive() || c.state == ConnectionState::kLingering) return;
  std::uint8_t to = c.watched == interest::kUnwatched ? interest::kNone : c.watched;
  const bool writes = c.sending == Sending::kBlocked;
  to = static_cast<std::uint8_t>(writes ? to | interest::kWrite : to & ~interest::kWrite);
  if (MayTake(c) && !c.peer_done && !c.in_paused) to |= interest::kRead;
  if (to == interest::kNone && c.watched == interest::kUnwatched) return;
  Watch(c, to);
}

void Selector::PushBacklog(Connection& c) {
  if (c.in_backlog) return;
  c.in_backlog = true;
  backlog_.push_back(c.id);
}

void Selector::PushPaused(Connection& c) {
  if (c.in_paused) return;
  c.in_paused = true;
  paused_ids_.push_back(c.id);
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
  gathered_ += c.gather.size() - c.counted_gather;  // unsigned, so that less is right as well
  output_ += c.out.held() - c.counted_out;
  c.counted_gather = c.gather.size();
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

/** Pauses at the bound on all queued bytes, resumes below three quarters of it. */
void Selector::CheckQueued() {
  const double queued = static_cast<double>(gathered_) + static_cast<double>(output_) +
                        tables_.counters[counter::kExternalQueuedBytes];
  if (!paused_) {
    if (queued < options_.queued_bytes_max) return;
    paused_ = true;
    tables_.counters[counter::kPauses] += 1;
    return;
  }
  if (queued >= options_.queued_bytes_max * kResumeBelow) return;
  paused_ = false;
  for (const std::int32_t id : paused_ids_) {
    Connection* const c = connections_.Find(id);
    if (c == nullptr || !c->in_paused) continue;
    c->in_paused = false;
    Rearm(*c);
  }
  paused_ids_.clear();
}

/** Without this, frames that are half there could fill the bound and wait for each other for ever. */
void Selector::LetOldestGatherOn() {
  if (!paused_ || oldest_ == nullptr || (oldest_->watched & interest::kRead) != 0) return;
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
