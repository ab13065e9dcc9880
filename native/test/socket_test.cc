// What the system is told about connections that were accepted.

#include "core/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "test/harness.h"

using namespace millrace;

namespace {

int OptionOf(const Fd& fd, int level, int name) {
  int value = -1;
  socklen_t length = sizeof value;
  getsockopt(fd.get(), level, name, &value, &length);
  return value;
}

}  // namespace

TEST("a peer that vanished is noticed within two minutes, whether something is under way to it or not") {
  const Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  TuneSocket(fd.get(), true, 30'000);
  EXPECT_TRUE(OptionOf(fd, IPPROTO_TCP, TCP_NODELAY) != 0);
  EXPECT_TRUE(OptionOf(fd, SOL_SOCKET, SO_KEEPALIVE) != 0);
#if defined(TCP_KEEPIDLE)
  const int probing = OptionOf(fd, IPPROTO_TCP, TCP_KEEPINTVL) * OptionOf(fd, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_KEEPIDLE) + probing, 120);
#endif
#if defined(TCP_USER_TIMEOUT)
  EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 120'000);
#endif
}

TEST("a peer that is there and reads nothing has the whole time of the setting") {
  const Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  TuneSocket(fd.get(), true, 3'600'000);
#if defined(TCP_USER_TIMEOUT)
  EXPECT_EQ(OptionOf(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 3'600'000);
#endif
}

TEST("a Unix socket is left as it is") {
  const Fd fd(socket(AF_UNIX, SOCK_STREAM, 0));
  TuneSocket(fd.get(), false, 30'000);
  EXPECT_EQ(OptionOf(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
}
