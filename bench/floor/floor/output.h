// What a connection's socket did not take: bytes and file slices, in order.
#pragma once

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <vector>

namespace bench {

struct Piece {
  std::vector<uint8_t> bytes;
  size_t sent = 0;
  int file = -1;  // a slice follows the bytes when >= 0
  int64_t position = 0;
  uint64_t left = 0;
};

enum class SendResult { kDone, kBlocked, kFailed };

/** Sends `bytes` from `sent` on; `more` holds the last packet back for what follows. */
inline SendResult SendBytes(int socket, const uint8_t* bytes, size_t size, size_t* sent, bool more) {
  while (*sent < size) {
    const ssize_t n = send(socket, bytes + *sent, size - *sent, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    if (n < 0) return errno == EAGAIN ? SendResult::kBlocked : SendResult::kFailed;
    *sent += static_cast<size_t>(n);
  }
  return SendResult::kDone;
}

inline SendResult SendSlice(int socket, int file, int64_t* position, uint64_t* left) {
  while (*left > 0) {
    off_t at = *position;
    const ssize_t n = sendfile(socket, file, &at, *left);
    if (n < 0) return errno == EAGAIN ? SendResult::kBlocked : SendResult::kFailed;
    if (n == 0) return SendResult::kFailed;
    *position += n;
    *left -= static_cast<uint64_t>(n);
  }
  return SendResult::kDone;
}

class OutputQueue {
 public:
  bool empty() const { return pieces_.empty(); }
  void Add(Piece piece) { pieces_.push_back(std::move(piece)); }
  SendResult Pump(int socket) {
    while (!pieces_.empty()) {
      Piece& p = pieces_.front();
      SendResult result = SendBytes(socket, p.bytes.data(), p.bytes.size(), &p.sent, p.left > 0);
      if (result == SendResult::kDone) result = SendSlice(socket, p.file, &p.position, &p.left);
      if (result != SendResult::kDone) return result;
      pieces_.pop_front();
    }
    return SendResult::kDone;
  }

 private:
  std::deque<Piece> pieces_;
};

}  // namespace bench
