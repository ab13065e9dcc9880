// What came back: counted and timed, nothing decided.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "common/histogram.h"

namespace bench {

struct Tally {
  Tally(uint64_t interval, uint64_t measured_from) : interval_ns(interval), from_ns(measured_from) {}

  const uint64_t interval_ns;
  /** Requests that should have begun before this are warm-up and counted nowhere but in `warmup`. */
  const uint64_t from_ns;

  Histogram latency;
  uint64_t warmup = 0;
  uint64_t answered = 0;  // errors too
  std::map<uint16_t, uint64_t> errors;
  uint64_t bytes_in = 0;
  uint64_t last_answer_ns = 0;
  std::vector<uint64_t> timeline;  // answers by the interval they came in

  // PRODUCE: what the broker says it did
  uint64_t records_acknowledged = 0;
  uint64_t base_offset_min = UINT64_MAX;
  uint64_t log_end_max = 0;

  // FETCH
  uint64_t payload_bytes = 0;
  uint64_t empty_answers = 0;

  /** Returns whether the answer counts. `started_ns` is when the request should have begun. */
  bool Answered(uint64_t started_ns, uint64_t now_ns, uint32_t bytes) {
    last_answer_ns = now_ns;
    if (started_ns < from_ns) {
      warmup++;
      return false;
    }
    answered++;
    bytes_in += bytes;
    latency.Record(now_ns - started_ns);
    const size_t interval = (now_ns - from_ns) / interval_ns;
    if (interval >= timeline.size()) timeline.resize(interval + 1);
    timeline[interval]++;
    return true;
  }
};

}  // namespace bench
