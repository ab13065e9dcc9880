// Many fetches that wait at the end of a log, on many connections, and one producer that ends their waits. It
// is told what to do step by step, so that whoever measures the broker can look at it in between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/args.h"
#include "common/histogram.h"

namespace bench {

struct WaitersOptions {
  std::string host;
  uint16_t port = 0;
  std::string congestion;
  std::string topic;
  uint32_t connections = 1;
  uint32_t fetches = 1;  // over all connections, as many on each as goes
  uint32_t size = 128;   // of the record that is published
  uint32_t max_wait_ms = 60000;

  static WaitersOptions Parse(Args& args);
};

class Waiters {
 public:
  explicit Waiters(const WaitersOptions& options);
  ~Waiters();

  /** Connects all, and publishes a first record to learn where the log ends. */
  void Open();
  /** Every connection asks for what follows the end. */
  void Ask();
  /** Publishes one record, and returns when every fetch has been answered with it. Prints what it took. */
  void Publish();
  /** Nothing may have been answered until somebody publishes. */
  void CheckQuiet();

 private:
  struct Connection {
    int socket = -1;
    uint32_t asked = 0;
    uint32_t answered = 0;
    std::vector<uint8_t> carry;  // the beginning of an answer
  };

  int Connect(uint32_t number) const;
  std::vector<uint8_t> Request(uint16_t key, uint16_t version, const std::vector<uint8_t>& body) const;
  void SendAll(int socket, const std::vector<uint8_t>& bytes) const;
  void SendProduce();
  void ReceiveProduced();
  /** Returns how many answers came. */
  uint32_t Receive(Connection* connection);
  uint32_t AnswerBytes() const;

  const WaitersOptions options_;
  int epoll_ = -1;
  int producer_ = -1;
  std::vector<Connection> connections_;
  std::vector<uint8_t> scratch_;
  uint64_t end_ = 0;
};

}  // namespace bench
