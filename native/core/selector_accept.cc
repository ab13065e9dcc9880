// Accepting. Out of descriptors, or at the bound on connections, the listeners are not watched until one is
// free: a level-triggered poller would report a connection that nobody can take for ever.

#include <utility>

#include "core/selector.h"
#include "core/socket.h"

namespace millrace {

namespace counter = selector_counter;

namespace {
// Accepted in a turn at most, so that a storm of new clients does not starve the old ones.
constexpr int kAcceptsInTurn = 128;
}  // namespace

SysError Selector::Listen(const std::string& host, int port, int* bound) {
  Listener listener;
  if (SysError error = listener.OpenTcp(host, port)) return error;
  *bound = listener.port();
  return AddDoor(std::move(listener));
}

SysError Selector::ListenUnix(const std::string& path) {
  Listener listener;
  if (SysError error = listener.OpenUnix(path)) return error;
  return AddDoor(std::move(listener));
}

SysError Selector::AddDoor(Listener listener) {
  Door door{std::move(listener)};
  const std::uint8_t watched = doors_paused_ ? interest::kNone : interest::kRead;
  if (SysError error = poller_.Watch(door.listener.fd(), kDoorToken + doors_.size(), door.watched, watched)) {
    return error;
  }
  door.watched = watched;
  doors_.push_back(std::move(door));
  return {};
}

void Selector::StopListening() {
  for (Door& door : doors_) {
    (void)poller_.Watch(door.listener.fd(), 0, door.watched, interest::kUnwatched);
  }
  doors_.clear();
}

void Selector::AcceptFrom(Door& door) {
  for (int i = 0; i < kAcceptsInTurn; i++) {
    if (live_ >= options_.connections_max) return PauseDoors();
    // Slots whose end is not reported yet come free with the next turn, and there will be one: ends are
    // waiting.
    if (opened_ == tables_.opened_max || !connections_.HasRoom()) return;
    int error = 0;
    Fd fd = AcceptSocket(door.listener.fd(), &error);
    if (fd.valid()) {
      if (!Admit(std::move(fd), door.listener.is_tcp())) return PauseDoors();
    } else if (IsAgain(error)) {
      return;
    } else if (IsOutOfResources(error)) {
      return PauseDoors();
    }
    // Anything else is the failure of one connection before it was accepted.
  }
}

bool Selector::Admit(Fd fd, bool tcp) {
  TuneSocket(fd.get(), tcp, options_.write_stall_ms);
  Connection& c = connections_.Take();
  if (poller_.Watch(fd.get(), static_cast<std::uint64_t>(c.id), interest::kUnwatched, interest::kRead)) {
    c.state = ConnectionState::kClosed;
    connections_.GiveBack(c.id);
    return false;
  }
  c.fd = std::move(fd);
  c.watched = interest::kRead;
  c.active_ms = now_ms_;
  tables_.opened[opened_++] = c.id;
  tables_.counters[counter::kAccepted] += 1;
  live_++;
  return true;
}

void Selector::PauseDoors() {
  if (doors_paused_) return;
  doors_paused_ = true;
  tables_.counters[counter::kListenerPauses] += 1;
  for (std::size_t i = 0; i < doors_.size(); i++) {
    (void)poller_.Watch(doors_[i].listener.fd(), kDoorToken + i, doors_[i].watched, interest::kNone);
    doors_[i].watched = interest::kNone;
  }
}

void Selector::ResumeDoors() {
  if (!doors_paused_ || live_ >= options_.connections_max) return;
  doors_paused_ = false;
  for (std::size_t i = 0; i < doors_.size(); i++) {
    (void)poller_.Watch(doors_[i].listener.fd(), kDoorToken + i, doors_[i].watched, interest::kRead);
    doors_[i].watched = interest::kRead;
  }
}

}  // namespace millrace
