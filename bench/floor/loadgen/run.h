// Drives all connections from one thread: a closed loop, in which an answer makes room for the next request,
// or an open one, in which requests begin at fixed times and their latency is counted from those times, so
// that a broker that stalls cannot hide it by slowing the generator down.
#pragma once

#include <memory>
#include <vector>

#include "common/clock.h"
#include "loadgen/connection.h"
#include "loadgen/schedule.h"

namespace bench {

class Run {
 public:
  explicit Run(const LoadOptions& options);
  ~Run();
  void Open();
  void Go();
  void Print() const;

 private:
  void GoClosed();
  void GoOpen();
  void GoUnacknowledged();
  /** Waits for sockets for at most so long (below a second) and receives. */
  void Turn(int64_t timeout_ns);
  void Answered(uint32_t connection, uint32_t answers, uint64_t now);
  /** Open loop: everything that is due on this connection and finds room there. */
  void IssueDue(uint32_t connection, uint64_t due);
  void CheckProgress();
  bool MayIssue(uint64_t now);
  void Drain();
  uint64_t InFlight() const;

  const LoadOptions& options_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Connection>> connections_;
  Scratch scratch_;
  std::unique_ptr<Tally> tally_;
  std::unique_ptr<Schedule> schedule_;
  std::vector<uint64_t> next_of_;  // open loop: the next request of each connection
  Histogram lag_;                  // open loop: how late the generator itself was
  uint64_t due_ = 0;
  uint64_t issued_ = 0;
  bool stopping_ = false;
  uint64_t start_ns_ = 0;
  uint64_t end_ns_ = UINT64_MAX;
  uint64_t finished_ns_ = 0;
  CpuTime cpu_;
};

}  // namespace bench
