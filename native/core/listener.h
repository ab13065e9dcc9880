// A listening socket, TCP or Unix. It must not know what becomes of the connections.
#pragma once

#include <string>

#include "core/error.h"
#include "core/fd.h"

namespace millrace {

class Listener {
 public:
  Listener() = default;
  Listener(Listener&&) = default;
  Listener& operator=(Listener&&) = default;
  ~Listener();

  /** Binds and listens. Port 0 becomes a free one, see port(). */
  SysError OpenTcp(const std::string& host, int port);
  /** A stale socket file is replaced; one that somebody listens on is EADDRINUSE. Only the owner may connect.
   */
  SysError OpenUnix(const std::string& path);

  int fd() const { return fd_.get(); }
  int port() const { return port_; }
  bool is_tcp() const { return path_.empty(); }

 private:
  SysError Listen();

  Fd fd_;
  int port_ = 0;
  std::string path_;  // of a Unix socket
};

}  // namespace millrace
