// The calls that are alike everywhere. What differs is in socket_linux.cc and socket_darwin.cc.

#include "core/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace millrace {

namespace {
constexpr int kKeepAliveIdleSeconds = 60;
constexpr int kKeepAliveIntervalSeconds = 10;
constexpr int kKeepAliveProbes = 6;
constexpr std::int64_t kVanishedMs =
    1000 * (kKeepAliveIdleSeconds + kKeepAliveProbes * kKeepAliveIntervalSeconds);
}  // namespace

bool IsAgain(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

bool IsPeerGone(int error) { return error == ECONNRESET || error == EPIPE; }

bool IsOutOfResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == ENOSPC;
}

void IgnoreSigpipe() {
  struct sigaction current{};
  if (sigaction(SIGPIPE, nullptr, &current) == 0 && current.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

void TuneSocket(int fd, bool tcp, std::int64_t stall_ms) {
  const int on = 1;
#ifdef SO_NOSIGPIPE
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  if (!tcp) return;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#ifdef TCP_KEEPIDLE
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdleSeconds, sizeof kKeepAliveIdleSeconds);
#else
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPALIVE, &kKeepAliveIdleSeconds, sizeof kKeepAliveIdleSeconds);
#endif
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAliveIntervalSeconds, sizeof kKeepAliveIntervalSeconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof kKeepAliveProbes);
  const std::int64_t unacknowledged_ms = std::min<std::int64_t>(std::max(stall_ms, kVanishedMs), INT_MAX);
#if defined(TCP_USER_TIMEOUT)
  const auto limit = static_cast<unsigned>(unacknowledged_ms);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
#elif defined(TCP_RXT_CONNDROPTIME)
  const auto limit = static_cast<int>(unacknowledged_ms / 1000);
  setsockopt(fd, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, &limit, sizeof limit);
#endif
}

int SocketError(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

namespace {
ssize_t Receive(int fd, std::uint8_t* into, std::size_t count, int flags) {
  for (;;) {
    const ssize_t got = recv(fd, into, count, flags);
    if (got >= 0) return got;
    if (errno != EINTR) return -errno;
  }
}
}  // namespace

ssize_t ReceiveBytes(int fd, std::uint8_t* into, std::size_t count) { return Receive(fd, into, count, 0); }

ssize_t PeekBytes(int fd, std::uint8_t* into, std::size_t count) {
  return Receive(fd, into, count, MSG_PEEK);
}

ssize_t SendTwo(int fd, const std::uint8_t* first, std::size_t first_count, const std::uint8_t* second,
                std::size_t second_count) {
  iovec pieces[] = {{const_cast<std::uint8_t*>(first), first_count},
                    {const_cast<std::uint8_t*>(second), second_count}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
#ifdef SO_NOSIGPIPE
  const int flags = 0;  // TuneSocket has set it on the socket.
#else
  const int flags = MSG_NOSIGNAL;
#endif
  for (;;) {
    const ssize_t sent = sendmsg(fd, &message, flags);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace millrace
