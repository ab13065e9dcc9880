// The clock that never goes back: for limits of time, never for records.
#pragma once

#include <time.h>

#include <cstdint>

namespace millrace {

/** In microseconds. */
inline std::int64_t MonotonicUs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

}  // namespace millrace
