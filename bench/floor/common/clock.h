// Time and processor time, and nothing of what is measured with them.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

namespace bench {

inline uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline double SecondsBetween(uint64_t from_ns, uint64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) / 1e9;
}

struct CpuTime {
  double user = 0;
  double system = 0;

  static CpuTime OfThisProcess() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return {Seconds(usage.ru_utime), Seconds(usage.ru_stime)};
  }
  CpuTime operator-(const CpuTime& other) const { return {user - other.user, system - other.system}; }

 private:
  static double Seconds(const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  }
};

}  // namespace bench
