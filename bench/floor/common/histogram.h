// A histogram of durations in the manner of HdrHistogram: every value from 0 to 2^63 ns has a counter, and
// the counters lie so close that a value is known to 1/128 (0.8 %). Recording is an addition: nothing is
// thrown away, nothing is sampled, so the highest percentiles are as honest as the lowest.
//
//   value      0 … 255            exact, one counter each
//   value      2^k … 2^(k+1)-1    128 counters of width 2^(k-7)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bench {

class Histogram {
 public:
  Histogram() : counts_(kCounters) {}

  void Record(uint64_t value) {
    counts_[IndexOf(value)]++;
    count_++;
    sum_ += static_cast<double>(value);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  uint64_t count() const { return count_; }
  uint64_t min() const { return count_ == 0 ? 0 : min_; }
  uint64_t max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  /**
   * The value that `percent` of the recorded ones do not exceed: the largest one that shares its counter, so
   * that the answer is never flattering.
   */
  uint64_t Percentile(double percent) const {
    if (count_ == 0) return 0;
    const double exact = std::ceil(percent / 100 * static_cast<double>(count_));
    const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(exact));
    uint64_t seen = 0;
    for (size_t i = 0; i < kCounters; i++) {
      seen += counts_[i];
      if (seen >= rank) return std::min(HighestOf(i), max_);
    }
    return max_;
  }

 private:
  static constexpr int kBits = 7;
  static constexpr uint64_t kHalf = uint64_t{1} << kBits;
  static constexpr size_t kCounters = (64 - kBits) * kHalf + kHalf;

  static int ShiftOf(uint64_t value) {
    const int top = 63 - __builtin_clzll(value | 1);
    return top > kBits ? top - kBits : 0;
  }
  static size_t IndexOf(uint64_t value) {
    const int shift = ShiftOf(value);
    return static_cast<size_t>(shift) * kHalf + (value >> shift);
  }
  static uint64_t HighestOf(size_t index) {
    if (index < 2 * kHalf) return index;
    const size_t shift = index / kHalf - 1;
    return ((static_cast<uint64_t>(index - shift * kHalf) + 1) << shift) - 1;
  }

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t min_ = UINT64_MAX;
  uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace bench
