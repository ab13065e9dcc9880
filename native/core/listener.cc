// Binding. Done at start-up, so it may look up a name and wait for it.

#include "core/listener.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace millrace {

namespace {
// The kernel cuts it to net.core.somaxconn. Ten thousand clients that come back after a restart should not be
// refused.
constexpr int kBacklog = 4096;

Fd NewSocket(int family) {
  Fd fd(socket(family, SOCK_STREAM, 0));
  if (!fd.valid()) return fd;
  // One that blocks would stop the loop at the first client that changed its mind.
  if (fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) fd.Reset();
  return fd;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

/** Whether only this machine can reach the address that a socket is bound to. */
bool IsLoopback(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
  const auto is_v4 = [](const std::uint8_t* bytes) { return bytes[0] == 127; };
  if (address.ss_family == AF_INET) {
    const in_addr& v4 = reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
    return is_v4(reinterpret_cast<const std::uint8_t*>(&v4));
  }
  if (address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && is_v4(v6.s6_addr + 12));
}

/**
 * Where the system's congestion control is one that paces (bbr), each packet of a slice waits for a timer,
 * and the timers cost more than the sending; loopback is no network that would gain by it. Said to the
 * listener: a socket that was bbr's for a moment stays paced. Both are free of pacing, and reno is in every
 * Linux; where neither may be chosen, things are as they were.
 */
void UnpaceLoopback(int fd) {
#if defined(TCP_CONGESTION)
  if (!IsLoopback(fd)) return;
  for (const std::string_view name : {"reno", "cubic"}) {
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), name.size()) == 0) return;
  }
#else
  (void)fd;
#endif
}

/** Whether the file at `path` is a socket on which nobody listens. */
bool IsStale(const sockaddr_un& address) {
  struct stat status{};
  if (lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const Fd probe = NewSocket(AF_UNIX);
  if (!probe.valid()) return false;
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}
}  // namespace

// One that is bound and could not listen goes as one that listened: with the file of its name.
Listener::~Listener() {
  if (fd_.valid() && !path_.empty()) unlink(path_.c_str());
}

SysError Listener::Listen() {
  if (listen(fd_.get(), kBacklog) == 0) return {};
  return SysError::Last("listen", path_);
}

SysError Listener::OpenTcp(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    return {failure == EAI_SYSTEM ? errno : EADDRNOTAVAIL, "getaddrinfo", host};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);

  SysError error{EADDRNOTAVAIL, "bind", host};
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    Fd fd = NewSocket(address->ai_family);
    if (!fd.valid()) {
      error = SysError::Last("socket", host);
      continue;
    }
    const int on = 1;
    const int off = 0;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // "::" means every address, whatever the system's default is.
    if (address->ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd.get(), address->ai_addr, address->ai_addrlen) != 0) {
      error = SysError::Last("bind", host);
      continue;
    }
    fd_ = std::move(fd);
    port_ = PortOf(fd_.get());
    UnpaceLoopback(fd_.get());
    return Listen();
  }
  return error;
}

SysError Listener::OpenUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return {ENAMETOOLONG, "bind", path};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  Fd fd = NewSocket(AF_UNIX);
  if (!fd.valid()) return SysError::Last("socket", path);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(fd.get(), generic, sizeof address) != 0) {
    if (errno != EADDRINUSE || !IsStale(address)) return SysError::Last("bind", path);
    unlink(path.c_str());
    if (bind(fd.get(), generic, sizeof address) != 0) return SysError::Last("bind", path);
  }
  fd_ = std::move(fd);
  path_ = path;
  // Nobody can connect before listen(), so there is no moment with wider permissions.
  if (chmod(path.c_str(), 0600) != 0) return SysError::Last("chmod", path);
  return Listen();
}

}  // namespace millrace
