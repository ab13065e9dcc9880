// A single-threaded epoll server that does for PRODUCE v1 and FETCH v1 what no broker can do without:
// receive, cut frames, check and store the records, answer; send slices of files. Partitions whatever the
// topic, no index (all records have one size, which it is told), nothing bounded but the frame. FORCED
// answers leave in groups after a barrier. A FETCH v2 at the end of the log waits for the next record,
// without a deadline and whatever it says of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "floor/forcer.h"
#include "floor/output.h"
#include "floor/sink.h"

namespace bench {

struct ServerOptions {
  std::string host;
  uint16_t port = 0;
  std::string congestion;  // TCP congestion control; empty = the system's default
  bool zero_copy = true;
  uint64_t record_size = 128;  // for FETCH: where an offset lies
  uint64_t receive_bytes = 256 << 10;
  uint32_t forcers = 1;  // threads that force
};

/** One for each partition. */
using Sinks = std::vector<std::unique_ptr<Sink>>;

struct ServerCounts {
  uint64_t frames = 0;
  uint64_t batches = 0;
  uint64_t records = 0;
  uint64_t fetches = 0;
  uint64_t barriers = 0;
};

class Server {
 public:
  Server(const ServerOptions& options, Sinks sinks);
  uint16_t port() const { return port_; }
  /** Until `*stop` is set by a signal. */
  ServerCounts Run(const volatile int* stop);

 private:
  struct Connection {
    int socket = -1;
    uint32_t generation = 0;
    std::vector<uint8_t> carry;  // an unfinished frame
    OutputQueue output;
    bool wants_write = false;
  };
  struct Waiting {
    uint32_t connection;
    uint32_t generation;
    uint8_t answer[26];
  };

  struct Parked {
    uint32_t connection;
    uint32_t generation;
    uint32_t correlation;
    uint32_t max_bytes;
    uint64_t offset;
    Sink* sink;
  };

  void Accept();
  void Receive(uint32_t id);
  /** Handles the whole frames of [at, end); returns where the unfinished one begins, or nullptr for a broken
   * stream. */
  const uint8_t* Cut(uint32_t id, const uint8_t* at, const uint8_t* end);
  bool Produce(uint32_t id, const uint8_t* frame, uint32_t length, uint32_t correlation);
  bool Fetch(uint32_t id, const uint8_t* frame, uint32_t length, uint32_t correlation, uint16_t version);
  void AnswerFetch(uint32_t id, uint32_t correlation, Sink* sink, uint64_t offset, uint32_t max_bytes);
  void Commit();
  void Wake();
  void Refuse(uint32_t correlation, uint16_t error);
  uint8_t* Answer(uint32_t bytes);
  void Send(uint32_t id, Piece slice);
  void Resume(uint32_t id);
  void Watch(uint32_t id, bool writing);
  void Close(uint32_t id);
  void Force();
  void Forced();

  const ServerOptions options_;
  const Sinks sinks_;
  std::vector<Sink*> touched_;  // since the last Commit()
  std::vector<Sink*> wanted_;   // by those in arriving_
  int epoll_ = -1;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<uint32_t> free_;
  std::vector<uint8_t> arena_;
  std::vector<uint8_t> replies_;
  size_t reply_bytes_ = 0;
  Forcer forcer_;
  std::vector<Waiting> arriving_;
  std::vector<Waiting> forcing_;
  std::vector<Parked> parked_;
  std::vector<Parked> waking_;
  ServerCounts counts_;
};

}  // namespace bench
