// Who goes when there is no other way. At the bound on all queued bytes nobody is read; what fills it may be
// answers that peers do not take, and requests behind those, and then it would last until each of them has
// stalled for its whole time. So in a sweep that finds reading paused, those are closed whose peers take
// nothing, the largest first, until there is room again. One that takes a little is left alone, and so is one
// that holds no more than its part: closing it would help nobody.

#include <algorithm>

#include "core/selector.h"
#include "core/socket.h"

namespace millrace {

namespace counter = selector_counter;

namespace {
// A peer that takes nothing for so long is not taking. Sweeps are a second apart, so this is over in the
// third that looks at it; two whole seconds would often be in the fourth, by a moment.
constexpr std::int64_t kShedMs = 1500;
// How far the bound is emptied, or what fetches leave of it that wait for records: those could not be had by
// closing others. At three quarters, where reading goes on, the next ones like those who went would soon stop
// it again.
constexpr double kShedTo = 0.5;
// What the caller holds for each open request, at the least: a reply slot.
constexpr double kOpenBytes = 60;
}  // namespace

double Selector::Holds(const Connection& c) const {
  return static_cast<double>(c.out.held() + c.gather.capacity()) + kOpenBytes * c.open;
}

/**
 * Whether its peer has taken nothing for a while. What the socket holds is asked for, and not only whether it
 * took more: that is so full that a slow peer makes room in it once in ten seconds. A peer's system, too,
 * says only now and then that something was taken of what it holds itself: see docs/operations.md.
 */
bool Selector::TakesNothing(Connection& c) const {
  if (c.out.empty() || c.sending != Sending::kBlocked) return false;
  const std::int64_t in_socket = UntakenBytes(c.fd.get());
  if (in_socket != c.in_socket) {
    c.in_socket = in_socket;
    c.taken_ms = now_ms_;
  }
  return now_ms_ - std::max(c.taken_ms, c.progress_ms) >= kShedMs;
}

void Selector::Shed() {
  const double waiting = tables_.counters[counter::kExternalWaitingBytes];
  const double target = (options_.queued_bytes_max - waiting) * kShedTo;
  // All that hold no more than this hold no more than the target together.
  const double part = target / std::max(1U, live_);
  struct Holder {
    Connection* connection;
    double bytes;
  };
  std::vector<Holder> holders;
  for (std::uint32_t slot = 0; slot < connections_.slots(); slot++) {
    Connection& c = connections_.at(slot);
    if (!c.alive() || !TakesNothing(c)) continue;
    const double bytes = Holds(c);
    if (bytes > part) holders.push_back({&c, bytes});
  }
  std::sort(holders.begin(), holders.end(),
            [](const Holder& one, const Holder& other) { return one.bytes > other.bytes; });
  // What the caller holds for them it lets go of when it is told.
  double queued = Queued() - waiting;
  for (const Holder& holder : holders) {
    if (queued < target) break;
    queued -= holder.bytes;
    CloseNow(*holder.connection, CloseReason::kShed);
    tables_.counters[counter::kShed] += 1;
  }
  CheckQueued();
}

}  // namespace millrace
