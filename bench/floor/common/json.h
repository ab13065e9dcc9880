// Writes one JSON document, in order, with the commas where they belong. It does not check that the nesting
// makes sense.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <string>

#include "common/histogram.h"

namespace bench {

class Json {
 public:
  Json& Open(char bracket) {
    Separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  Json& Close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  Json& Key(const std::string& name) {
    Separate();
    text_ += '"' + name + "\":";
    fresh_ = true;
    return *this;
  }
  Json& Text(const std::string& value) {
    Separate();
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    text_ += '"';
    return *this;
  }
  Json& Count(uint64_t value) {
    Separate();
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    text_ += digits;
    return *this;
  }
  Json& Real(double value) {
    Separate();
    char digits[40];
    snprintf(digits, sizeof digits, "%.6g", value);
    text_ += digits;
    return *this;
  }
  /** Percentiles in microseconds: the unit people think in. */
  Json& Latency(const Histogram& h) {
    Open('{').Key("count").Count(h.count()).Key("meanUs").Real(h.mean() / 1e3).Key("minUs").Real(Us(h.min()));
    static constexpr struct {
      const char* name;
      double percent;
    } kPoints[] = {{"p50Us", 50}, {"p90Us", 90}, {"p99Us", 99}, {"p999Us", 99.9}, {"p9999Us", 99.99}};
    for (const auto& point : kPoints) Key(point.name).Real(Us(h.Percentile(point.percent)));
    return Key("maxUs").Real(Us(h.max())).Close('}');
  }
  void Print() const { printf("%s\n", text_.c_str()), fflush(stdout); }

 private:
  static double Us(uint64_t ns) { return static_cast<double>(ns) / 1e3; }
  void Separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }

  std::string text_;
  bool fresh_ = true;
};

}  // namespace bench
