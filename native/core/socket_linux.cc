// accept4, MSG_NOSIGNAL, MSG_MORE and sendfile as Linux has them.

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <cerrno>

#include "core/socket.h"

namespace millrace {

Fd AcceptSocket(int listener, int* error) {
  Fd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  *error = fd.valid() ? 0 : errno;
  return fd;
}

ssize_t SendBytes(int fd, const std::uint8_t* bytes, std::size_t count, bool more) {
  for (;;) {
    const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

ssize_t SendFile(int socket, int file, off_t position, std::size_t count) {
  for (;;) {
    off_t at = position;
    const ssize_t sent = sendfile(socket, file, &at, count);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

std::int64_t UntakenBytes(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

}  // namespace millrace
