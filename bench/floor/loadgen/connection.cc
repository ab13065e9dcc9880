#include "loadgen/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/crc32c.h"
#include "common/wire.h"

namespace bench {

static_assert(kProduceAnswer == 26 && kFetchAnswer + 4 == 26,
              "a head is an answer without payload, or its first record's length");

Connection::Connection(const LoadOptions& options, uint32_t number)
    : options_(options), number_(number), started_(options.depth) {
  BuildRing();
  fetch_step_ = std::max<uint64_t>(1, options.max_bytes / (options.size + options.record_header));
  if (options.range != 0) fetch_next_ = options.range / options.connections * number;
}

Connection::~Connection() {
  if (socket_ >= 0) close(socket_);
}

void Connection::BuildRing() {
  const bool produce = options_.api == Api::kProduce;
  const size_t topic = options_.topic.size();
  body_at_ = kRequestHeader + 2 + topic + 4;
  const size_t fetch_body = 8 + 4 + (options_.waits ? 8 : 0);
  const size_t body = produce ? 1 + 4 + size_t{options_.records} * (4 + options_.size) : fetch_body;
  request_bytes_ = body_at_ + body;
  ring_.resize(request_bytes_ * options_.depth);
  for (uint32_t slot = 0; slot < options_.depth; slot++) {
    uint8_t* at = ring_.data() + slot * request_bytes_;
    Put32(at, static_cast<uint32_t>(request_bytes_ - 4));
    Put16(at + 4, produce ? kApiProduce : kApiFetch);
    Put16(at + 6, options_.waits ? 2 : 1);
    Put32(at + 8, slot);
    Put16(at + 12, static_cast<uint16_t>(topic));
    memcpy(at + 14, options_.topic.data(), topic);
    Put32(at + 14 + topic, (number_ + slot) % options_.partitions);
    at += body_at_;
    if (!produce) {
      Put64(at, options_.from);
      Put32(at + 8, options_.max_bytes);
      if (options_.waits) {
        Put32(at + 12, options_.max_wait_ms);
        Put32(at + 16, 1);
      }
      continue;
    }
    *at++ = options_.ack;
    Put32(at, options_.records);
    at += 4;
    for (uint32_t r = 0; r < options_.records; r++) {
      Put32(at, options_.size);
      at += 4;
      for (uint32_t i = 0; i < options_.size; i++)
        *at++ = static_cast<uint8_t>('a' + (slot + 7 * r + i) % 26);
    }
  }
}

void Connection::Open() {
  if (!options_.unix_path.empty()) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (options_.unix_path.size() >= sizeof address.sun_path) Die("--unix: too long");
    memcpy(address.sun_path, options_.unix_path.c_str(), options_.unix_path.size());
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      Die(std::string("cannot connect: ") + strerror(errno));
    }
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    if (inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr) != 1) Die("--host: not an IPv4 address");
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::string& congestion = options_.congestion;
    if (!congestion.empty() &&
        setsockopt(socket_, IPPROTO_TCP, TCP_CONGESTION, congestion.data(), congestion.size()) != 0) {
      Die("--congestion: " + congestion + " is not to be had here");
    }
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      Die(std::string("cannot connect: ") + strerror(errno));
    }
  }
  fcntl(socket_, F_SETFL, fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

void Connection::Issue(uint64_t start_ns) {
  started_[issue_slot_] = start_ns;
  if (options_.range != 0) {
    Put64(ring_.data() + issue_slot_ * request_bytes_ + body_at_, options_.from + fetch_next_);
    fetch_next_ += fetch_step_;
    if (fetch_next_ >= options_.range) fetch_next_ -= options_.range;
  }
  issue_slot_ = Next(issue_slot_);
  issued_++;
  unsent_ += request_bytes_;
}

bool Connection::Send() {
  while (unsent_ > 0) {
    const size_t straight = std::min<uint64_t>(unsent_, ring_.size() - send_at_);
    iovec ranges[2] = {{ring_.data() + send_at_, straight}, {ring_.data(), unsent_ - straight}};
    msghdr message{};
    message.msg_iov = ranges;
    message.msg_iovlen = ranges[1].iov_len == 0 ? 1 : 2;
    const ssize_t n = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EAGAIN) return false;
      Die("connection " + std::to_string(number_) + ": " + strerror(errno));
    }
    unsent_ -= static_cast<uint64_t>(n);
    bytes_out_ += static_cast<uint64_t>(n);
    send_at_ += static_cast<size_t>(n);
    if (send_at_ >= ring_.size()) send_at_ -= ring_.size();
  }
  return true;
}

uint32_t Connection::Receive(Scratch* scratch, Tally* tally, bool* more) {
  // With `discard` only heads are copied: exactly one is asked for, and then its payload is dropped where it
  // is.
  const bool drop = options_.discard && skip_ > 0;
  size_t wanted = scratch->bytes.size();
  if (drop) wanted = std::min<uint64_t>(skip_, INT32_MAX);
  if (options_.discard && !drop) wanted = kHeadMax - head_bytes_;
  const ssize_t n = recv(socket_, scratch->bytes.data(), wanted, drop ? MSG_TRUNC : 0);
  if (n < 0 && errno == EAGAIN) {
    *more = false;
    return 0;
  }
  if (n <= 0) {
    Die("connection " + std::to_string(number_) + " was closed with " + std::to_string(in_flight()) +
        " in flight");
  }
  *more = static_cast<size_t>(n) == wanted;
  const uint64_t before = answered_;
  const uint64_t now = NowNs();
  if (drop) {
    skip_ -= static_cast<uint64_t>(n);
    if (skip_ == 0) Complete(now, tally);
  } else {
    Parse(scratch->bytes.data(), scratch->bytes.data() + n, now, tally);
  }
  return static_cast<uint32_t>(answered_ - before);
}

void Connection::Parse(const uint8_t* at, const uint8_t* end, uint64_t now, Tally* tally) {
  while (at < end) {
    if (skip_ > 0) {
      const uint64_t n = std::min<uint64_t>(skip_, static_cast<uint64_t>(end - at));
      if (options_.verify) Verify(at, n);
      at += n;
      skip_ -= n;
      if (skip_ == 0) Complete(now, tally);
      continue;
    }
    if (head_bytes_ == 0 && end - at >= kHeadMax) {
      const uint64_t whole = 4 + uint64_t{Get32(at)};
      Head(at, now, tally);
      at += std::min<uint64_t>(whole, kHeadMax);
      continue;
    }
    const uint64_t need = head_bytes_ < 4 ? 4 : std::min<uint64_t>(4 + uint64_t{Get32(head_)}, kHeadMax);
    const uint64_t n = std::min<uint64_t>(need - head_bytes_, static_cast<uint64_t>(end - at));
    memcpy(head_ + head_bytes_, at, n);
    head_bytes_ += static_cast<uint32_t>(n);
    at += n;
    if (head_bytes_ < 4 || head_bytes_ < std::min<uint64_t>(4 + uint64_t{Get32(head_)}, kHeadMax)) continue;
    head_bytes_ = 0;
    Head(head_, now, tally);
  }
}

void Connection::Head(const uint8_t* head, uint64_t now, Tally* tally) {
  const uint32_t length = Get32(head);
  if (length < 6 || in_flight() == 0) Die("an answer that nobody waits for, or no answer at all");
  if (Get32(head + 4) != answer_slot_)
    Die("an answer out of order: correlation id " + std::to_string(Get32(head + 4)));
  const uint16_t error = Get16(head + 8);
  answer_bytes_ = 4 + length;
  if (error != kErrorNone) {
    if (length != 6) Die("an error with a body");
    tally->errors[error]++;
  } else if (options_.api == Api::kProduce) {
    if (length != kProduceAnswer - 4) Die("a PRODUCE answer of the wrong length");
    tally->records_acknowledged += options_.records;
    tally->base_offset_min = std::min(tally->base_offset_min, Get64(head + 10));
    tally->log_end_max = std::max(tally->log_end_max, Get64(head + 18));
  } else {
    const uint64_t payload = length < kFetchAnswer - 4 ? 0 : Get32(head + 18);
    if (length != kFetchAnswer - 4 + payload) Die("a FETCH answer whose lengths do not agree");
    // A fetch that brings nothing, or something else than records of this size, must not pass for a fast one.
    if (payload == 0) tally->empty_answers++;
    if (payload >= 4 && Get32(head + 22) != options_.size)
      Die("a payload that does not begin with a record of --size");
    tally->payload_bytes += payload;
    skip_ = payload - std::min<uint64_t>(payload, 4);
    if (options_.verify) Verify(head + 22, std::min<uint64_t>(payload, 4));
  }
  if (skip_ == 0) Complete(now, tally);
}

void Connection::Verify(const uint8_t* at, uint64_t bytes) {
  const uint64_t header = options_.record_header;
  while (bytes > 0) {
    const uint64_t have = partial_.size() + bytes;
    if (have < header) {
      partial_.insert(partial_.end(), at, at + bytes);
      return;
    }
    uint8_t begin[4];
    for (size_t i = 0; i < sizeof begin; i++)
      begin[i] = i < partial_.size() ? partial_[i] : at[i - partial_.size()];
    const uint64_t whole = header + Get32(begin);
    if (have < whole) {
      partial_.insert(partial_.end(), at, at + bytes);
      return;
    }
    const uint64_t taken = whole - partial_.size();
    if (partial_.empty()) {
      VerifyRecord(at, Get32(begin));
    } else {
      partial_.insert(partial_.end(), at, at + taken);
      VerifyRecord(partial_.data(), Get32(begin));
      partial_.clear();
    }
    at += taken;
    bytes -= taken;
  }
}

void Connection::VerifyRecord(const uint8_t* at, uint32_t length) const {
  if (Crc32c(at + 8, length) != Get32(at + 4)) Die("a record whose sum does not match its bytes");
}

void Connection::Complete(uint64_t now, Tally* tally) {
  partial_.clear();  // What the answer ended in the middle of.
  tally->Answered(started_[answer_slot_], now, answer_bytes_);
  answer_slot_ = Next(answer_slot_);
  answered_++;
}

uint32_t Connection::Unacknowledged(Tally* tally) {
  const uint64_t waiting = (unsent_ + request_bytes_ - 1) / request_bytes_;
  const uint64_t taken = issued_ - waiting - answered_;
  answered_ += taken;
  answer_slot_ = issue_slot_;
  tally->answered += taken;
  return static_cast<uint32_t>(taken);
}

void Connection::IssueFence(uint64_t start_ns) {
  answer_slot_ = issue_slot_;
  ring_[issue_slot_ * request_bytes_ + body_at_] = 1;
  Issue(start_ns);
}

}  // namespace bench
