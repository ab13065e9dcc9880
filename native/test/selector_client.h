// What a test of the selector does as a client: frames, and reading and writing without waiting.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <string>

#include "core/bytes.h"
#include "test/harness.h"
#include "test/selector_play.h"

namespace millrace {

inline std::string Framed(const std::string& contents) {
  std::uint8_t prefix[4];
  StoreBigEndian32(prefix, static_cast<std::uint32_t>(contents.size()));
  return std::string(reinterpret_cast<char*>(prefix), 4) + contents;
}

inline void Write(const Fd& fd, const std::string& bytes) {
  EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
}

/** What has arrived; `*ended` says whether the stream ended. */
inline std::string ReadAll(const Fd& fd, bool* ended = nullptr) {
  std::string all;
  char buffer[65536];
  for (;;) {
    const ssize_t got = recv(fd.get(), buffer, sizeof buffer, 0);
    if (got <= 0) {
      if (ended != nullptr) *ended = got == 0 || errno != EAGAIN;
      return all;
    }
    all.append(buffer, static_cast<std::size_t>(got));
  }
}

/** Why connections ended, by id. */
struct Ends {
  explicit Ends(SelectorPlay& play) {
    play.on_closed = [this](std::int32_t id, CloseReason reason) { reasons[id] = reason; };
  }
  std::map<std::int32_t, CloseReason> reasons;
};

}  // namespace millrace
