// kqueue. Reading and writing are filters of their own, so one descriptor can come back twice in a wait. A
// filter that is not there reports nothing at all, hence kNone and kUnwatched are the same here and a hang-up
// never repeats.

#include <fcntl.h>
#include <sys/event.h>
#include <sys/time.h>

#include "core/poller.h"

namespace millrace {

struct Poller::Buffer {
  struct kevent events[kEventsMax];
};

Poller::Poller() = default;
Poller::~Poller() = default;

SysError Poller::Open() {
  buffer_ = std::make_unique<Buffer>();
  fd_.Reset(kqueue());
  if (!fd_.valid()) return SysError::Last("kqueue");
  return fcntl(fd_.get(), F_SETFD, FD_CLOEXEC) == 0 ? SysError{} : SysError::Last("fcntl");
}

SysError Poller::Watch(int fd, std::uint64_t token, std::uint8_t from, std::uint8_t to) {
  struct kevent changes[3];
  int count = 0;
  const std::uint8_t changed = static_cast<std::uint8_t>(from ^ to);
  void* const data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(token));
  if ((changed & (interest::kRead | interest::kOnlyNews)) != 0) {
    // A filter that is there keeps its EV_CLEAR, or goes on without, so it is made anew.
    if ((from & interest::kRead) != 0) {
      EV_SET(&changes[count++], static_cast<std::uintptr_t>(fd), EVFILT_READ, EV_DELETE, 0, 0, data);
    }
    if ((to & interest::kRead) != 0) {
      const auto flags =
          static_cast<std::uint16_t>((to & interest::kOnlyNews) != 0 ? EV_ADD | EV_CLEAR : EV_ADD);
      EV_SET(&changes[count++], static_cast<std::uintptr_t>(fd), EVFILT_READ, flags, 0, 0, data);
    }
  }
  if ((changed & interest::kWrite) != 0) {
    const auto flags = static_cast<std::uint16_t>((to & interest::kWrite) != 0 ? EV_ADD : EV_DELETE);
    EV_SET(&changes[count++], static_cast<std::uintptr_t>(fd), EVFILT_WRITE, flags, 0, 0, data);
  }
  if (count == 0) return {};
  return kevent(fd_.get(), changes, count, nullptr, 0, nullptr) == 0 ? SysError{} : SysError::Last("kevent");
}

int Poller::Wait(PollEvent* events, int timeout_ms) {
  const timespec timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
  const timespec* const limit = timeout_ms < 0 ? nullptr : &timeout;
  const int count = kevent(fd_.get(), nullptr, 0, buffer_->events, kEventsMax, limit);
  for (int i = 0; i < count; i++) {
    const struct kevent& event = buffer_->events[i];
    // EV_EOF needs no bit of its own: reading comes to the end of the stream, writing to EPIPE.
    const std::uint8_t bits = event.filter == EVFILT_WRITE ? ready::kWrite : ready::kRead;
    events[i] = {static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(event.udata)), bits};
  }
  return count > 0 ? count : 0;
}

}  // namespace millrace
