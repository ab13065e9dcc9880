// Which descriptors are ready: epoll or kqueue behind one face, level-triggered unless only news are asked
// for. The poller's own descriptor can be watched by another loop (it becomes readable when something is
// ready), which is how all sockets hang on a single uv_poll. It must not know what a connection is: a token
// comes back as it was given.
#pragma once

#include <cstdint>
#include <memory>

#include "core/error.h"
#include "core/fd.h"

namespace millrace {

/** What is watched for on a descriptor. A set of bits, or kUnwatched: the poller does not know the
 * descriptor. */
namespace interest {
constexpr std::uint8_t kNone = 0;
constexpr std::uint8_t kRead = 1;
constexpr std::uint8_t kWrite = 2;
/** Unlike kNone not even a hang-up is reported, which a level-triggered poller would repeat for ever. */
constexpr std::uint8_t kUnwatched = 4;
/** With kRead, and without kWrite: told once now, if there is something, and then only when more has come. */
constexpr std::uint8_t kOnlyNews = 8;
}  // namespace interest

/** What a descriptor is ready for. */
namespace ready {
constexpr std::uint8_t kRead = 1;
constexpr std::uint8_t kWrite = 2;
/** Both directions are shut. What arrived before may still be read. */
constexpr std::uint8_t kHangup = 4;
/** The socket failed (reset, timed out). */
constexpr std::uint8_t kError = 8;
}  // namespace ready

struct PollEvent {
  std::uint64_t token;
  std::uint8_t ready;
};

class Poller {
 public:
  Poller();
  ~Poller();
  SysError Open();
  int fd() const { return fd_.get(); }
  /** Changes what is watched for from `from` (kUnwatched at first) to `to`. Closing a descriptor needs no
   * call. */
  SysError Watch(int fd, std::uint64_t token, std::uint8_t from, std::uint8_t to);
  /** At most kEventsMax events; returns how many. `timeout_ms` 0 never blocks. */
  int Wait(PollEvent* events, int timeout_ms);

  static constexpr int kEventsMax = 1024;

 private:
  struct Buffer;  // the system's own event structures
  Fd fd_;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace millrace
