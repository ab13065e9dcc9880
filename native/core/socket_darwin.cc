// The same calls as macOS has them: flags are set after accept, and sendfile says by reference how much it
// moved.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>

#include "core/socket.h"

namespace millrace {

Fd AcceptSocket(int listener, int* error) {
  Fd fd(accept(listener, nullptr, nullptr));
  *error = fd.valid() ? 0 : errno;
  if (!fd.valid()) return fd;
  if (fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) {
    *error = errno;
    fd.Reset();
  }
  return fd;
}

ssize_t SendBytes(int fd, const std::uint8_t* bytes, std::size_t count, bool) {
  // No MSG_MORE here: with TCP_NODELAY a header may leave in a packet of its own, which is slower and not
  // wrong.
  for (;;) {
    const ssize_t sent = send(fd, bytes, count, 0);  // SO_NOSIGPIPE is set on the socket
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t UntakenBytes(int fd) {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  return getsockopt(fd, SOL_SOCKET, SO_NWRITE, &bytes, &size) == 0 ? bytes : -1;
}

ssize_t SendFile(int socket, int file, off_t position, std::size_t count) {
  for (;;) {
    off_t moved = static_cast<off_t>(count);
    if (sendfile(file, socket, position, &moved, nullptr, 0) == 0) return static_cast<ssize_t>(moved);
    // Interrupted or full, it may have sent a part all the same.
    if ((errno == EINTR || IsAgain(errno)) && moved > 0) return static_cast<ssize_t>(moved);
    if (errno != EINTR) return -errno;
  }
}

}  // namespace millrace
