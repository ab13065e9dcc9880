// One connection with at most `depth` requests in flight. All its requests are built before the clock starts
// and lie in a ring, slot after slot; request n is slot n mod depth and carries that as its correlation id.
// As no more than `depth` are ever in flight, an answer that is not the next expected one is noticed by its
// id, and sending is nothing but handing ranges of the ring to the kernel. That is what lets one thread drive
// millions of requests a second.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadgen/options.h"
#include "loadgen/tally.h"

namespace bench {

/** Shared by all connections: received bytes are looked at and forgotten before the next receive. */
struct Scratch {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(256 << 10);
};

class Connection {
 public:
  Connection(const LoadOptions& options, uint32_t number);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /** Connects; ends the program when that fails. */
  void Open();
  int socket() const { return socket_; }
  uint32_t in_flight() const { return static_cast<uint32_t>(issued_ - answered_); }
  bool HasRoom() const { return in_flight() < options_.depth; }
  /** Puts the next request in line; it began, or should have begun, at `start_ns`. Only while HasRoom(). */
  void Issue(uint64_t start_ns);
  /** Sends what is in line so far as the socket takes it. Returns whether all of it went out. */
  bool Send();
  bool HasUnsent() const { return unsent_ != 0; }
  /** Receives once. Returns how many requests were answered; `*more` says that there may be more to receive.
   */
  uint32_t Receive(Scratch* scratch, Tally* tally, bool* more);
  uint64_t bytes_out() const { return bytes_out_; }

  /** `--ack none`: what the kernel took is done. Returns how many requests that freed. */
  uint32_t Unacknowledged(Tally* tally);
  /** After `--ack none`: one last request that is answered, so that everything before it is known to have
   * been taken. */
  void IssueFence(uint64_t start_ns);

 private:
  void BuildRing();
  void Parse(const uint8_t* at, const uint8_t* end, uint64_t now, Tally* tally);
  void Head(const uint8_t* head, uint64_t now, Tally* tally);
  void Complete(uint64_t now, Tally* tally);
  /** The next bytes of a payload: checks the records that are whole now. */
  void Verify(const uint8_t* at, uint64_t bytes);
  void VerifyRecord(const uint8_t* at, uint32_t length) const;
  uint32_t Next(uint32_t slot) const { return slot + 1 == options_.depth ? 0 : slot + 1; }

  const LoadOptions& options_;
  const uint32_t number_;
  int socket_ = -1;

  std::vector<uint8_t> ring_;
  size_t request_bytes_ = 0;
  size_t body_at_ = 0;  // behind the partition, in a request
  std::vector<uint64_t> started_;
  uint64_t issued_ = 0;
  uint64_t answered_ = 0;
  uint32_t issue_slot_ = 0;
  uint32_t answer_slot_ = 0;
  size_t send_at_ = 0;   // in the ring
  uint64_t unsent_ = 0;  // bytes in line
  uint64_t bytes_out_ = 0;
  uint64_t fetch_step_ = 0;  // records from one fetch to the next
  uint64_t fetch_next_ = 0;  // of the range

  // An answer whose head or payload has not come whole.
  static constexpr uint32_t kHeadMax = 26;
  uint8_t head_[kHeadMax];
  uint32_t head_bytes_ = 0;
  uint64_t skip_ = 0;
  uint32_t answer_bytes_ = 0;
  /** With `verify`: a record that came in pieces, so far. */
  std::vector<uint8_t> partial_;
};

}  // namespace bench
