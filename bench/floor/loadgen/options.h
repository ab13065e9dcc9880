// What the load generator is asked to do. Flags are checked here, once; everything behind it trusts them.
#pragma once

#include <cstdint>
#include <string>

#include "common/args.h"

namespace bench {

enum class Api { kProduce, kFetch };

struct LoadOptions {
  Api api = Api::kProduce;
  std::string host;
  uint16_t port = 0;
  std::string unix_path;   // instead of host and port
  std::string congestion;  // TCP congestion control of our side; empty = the system's default
  std::string topic;
  uint32_t partitions = 1;  // used in turn, first by connection, then by request
  uint32_t connections = 1;
  uint32_t depth = 1;  // requests in flight on one connection, at most

  // How long: a number of requests, or a time (0 = not this one).
  uint64_t requests = 0;
  double seconds = 0;
  double warmup_seconds = 0;
  /** Requests for each second over all connections, at fixed times whatever comes back; 0 = closed loop. */
  double rate = 0;
  uint64_t timeline_ms = 1000;
  double drain_seconds = 30;  // how long no answer may come while one is waited for
  bool spin = false;          // never sleeps while waiting for answers

  // PRODUCE
  uint32_t records = 1;
  uint32_t size = 128;
  uint8_t ack = 1;

  // FETCH
  uint32_t max_bytes = 64 << 10;
  uint64_t from = 0;
  uint64_t range = 0;          // records from `from` on that are read in turn; 0 = always the same place
  uint32_t record_header = 8;  // 4 in `plain`
  bool discard = false;        // payload is thrown away in the kernel and never copied
  bool verify = false;         // the sum of every whole record is checked
  bool waits = false;          // FETCH v2
  uint32_t max_wait_ms = 0;

  static LoadOptions Parse(Args& args);
};

}  // namespace bench
