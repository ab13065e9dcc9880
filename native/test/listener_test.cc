// Which congestion control connections of a listener have, by the address that it is bound to.

#include "core/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "core/socket.h"
#include "test/harness.h"

using namespace millrace;

#if defined(TCP_CONGESTION)
namespace {

std::string CongestionOf(int fd) {
  char name[32] = {};
  socklen_t length = sizeof name - 1;
  return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0 ? name : "unknown";
}

std::string SystemsChoice() { return CongestionOf(Fd(socket(AF_INET, SOCK_STREAM, 0)).get()); }

bool IsUnpaced(const std::string& name) { return name == "reno" || name == "cubic"; }

/** The listener's end of a connection from 127.0.0.1. */
Fd AcceptedBy(const Listener& listener, const Fd& client) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(listener.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  pollfd ready{listener.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 5000), 1);
  int error = 0;
  return AcceptSocket(listener.fd(), &error);
}

}  // namespace

TEST("connections over loopback are not paced, whatever the system's congestion control is") {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    Listener listener;
    if (const SysError error = listener.OpenTcp(host, 0)) continue;  // There may be no IPv6.
    EXPECT_TRUE(IsUnpaced(CongestionOf(listener.fd())));
  }
  Listener listener;
  ASSERT_TRUE(!listener.OpenTcp("127.0.0.1", 0));
  const Fd client(socket(AF_INET, SOCK_STREAM, 0));
  const Fd accepted = AcceptedBy(listener, client);
  ASSERT_TRUE(accepted.valid());
  EXPECT_TRUE(IsUnpaced(CongestionOf(accepted.get())));
}

TEST("a listener that other machines can reach has the system's congestion control") {
  Listener listener;
  ASSERT_TRUE(!listener.OpenTcp("0.0.0.0", 0));
  EXPECT_EQ(CongestionOf(listener.fd()), SystemsChoice());
  const Fd client(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(CongestionOf(AcceptedBy(listener, client).get()), SystemsChoice());
}
#endif
