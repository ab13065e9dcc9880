// epoll. Level-triggered on purpose: what a turn leaves in a socket is reported again, so a budget needs no
// bookkeeping.

#include <sys/epoll.h>

#include "core/poller.h"

namespace millrace {

struct Poller::Buffer {
  epoll_event events[kEventsMax];
};

Poller::Poller() = default;
Poller::~Poller() = default;

SysError Poller::Open() {
  buffer_ = std::make_unique<Buffer>();
  fd_.Reset(epoll_create1(EPOLL_CLOEXEC));
  return fd_.valid() ? SysError{} : SysError::Last("epoll_create1");
}

SysError Poller::Watch(int fd, std::uint64_t token, std::uint8_t from, std::uint8_t to) {
  if (from == to) return {};
  epoll_event event{};
  event.data.u64 = token;
  if ((to & interest::kRead) != 0) event.events |= EPOLLIN;
  if ((to & interest::kWrite) != 0) event.events |= EPOLLOUT;
  if ((to & interest::kOnlyNews) != 0) event.events |= EPOLLET;
  const int operation = from == interest::kUnwatched ? EPOLL_CTL_ADD
                        : to == interest::kUnwatched ? EPOLL_CTL_DEL
                                                     : EPOLL_CTL_MOD;
  return epoll_ctl(fd_.get(), operation, fd, &event) == 0 ? SysError{} : SysError::Last("epoll_ctl");
}

int Poller::Wait(PollEvent* events, int timeout_ms) {
  const int count = epoll_wait(fd_.get(), buffer_->events, kEventsMax, timeout_ms);
  // Only a signal can interrupt it; whatever is ready is still ready the next time.
  for (int i = 0; i < count; i++) {
    const epoll_event& event = buffer_->events[i];
    std::uint8_t bits = 0;
    if ((event.events & EPOLLIN) != 0) bits |= ready::kRead;
    if ((event.events & EPOLLOUT) != 0) bits |= ready::kWrite;
    if ((event.events & EPOLLHUP) != 0) bits |= ready::kHangup;
    if ((event.events & EPOLLERR) != 0) bits |= ready::kError;
    events[i] = {event.data.u64, bits};
  }
  return count > 0 ? count : 0;
}

}  // namespace millrace
