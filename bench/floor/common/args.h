// Command-line flags of the native bench tools: `--name value` and `--name` alone. A flag that nobody asked
// for, a number that does not parse or one outside its range ends the program: a typing error must not
// quietly measure something else.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace bench {

[[noreturn]] inline void Die(const std::string& message) {
  fprintf(stderr, "%s\n", message.c_str());
  exit(2);
}

class Args {
 public:
  Args(int argc, char** argv, int first) {
    for (int i = first; i < argc; i++) {
      const std::string name = argv[i];
      if (name.rfind("--", 0) != 0) Die("not a flag: " + name);
      const bool has_value = i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0;
      values_[name] = has_value ? argv[++i] : "";
    }
  }

  bool Has(const std::string& name) {
    asked_.insert(name);
    return values_.count(name) != 0;
  }

  std::string Text(const std::string& name, const std::string& fallback) {
    return Has(name) ? values_[name] : fallback;
  }

  /** A count or a size; `KiB`, `MiB` and `GiB` are understood. */
  int64_t Number(const std::string& name, int64_t fallback, int64_t min, int64_t max) {
    if (!Has(name)) return fallback;
    const std::string& text = values_[name];
    char* end = nullptr;
    int64_t value = strtoll(text.c_str(), &end, 10);
    const std::string unit = end;
    int64_t scale = 1;
    if (unit == "KiB") scale = int64_t{1} << 10;
    if (unit == "MiB") scale = int64_t{1} << 20;
    if (unit == "GiB") scale = int64_t{1} << 30;
    if (end == text.c_str() || (!unit.empty() && scale == 1)) Die(name + ": not a number: " + text);
    value *= scale;
    if (value < min || value > max) Die(name + ": out of range: " + text);
    return value;
  }

  double Real(const std::string& name, double fallback, double min, double max) {
    if (!Has(name)) return fallback;
    const std::string& text = values_[name];
    char* end = nullptr;
    const double value = strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != 0 || !(value >= min && value <= max))
      Die(name + ": bad value: " + text);
    return value;
  }

  /** One of `choices`, separated by blanks. */
  std::string Choice(const std::string& name, const std::string& fallback, const std::string& choices) {
    const std::string value = Text(name, fallback);
    if ((" " + choices + " ").find(" " + value + " ") == std::string::npos || value.empty()) {
      Die(name + ": " + value + " is not one of: " + choices);
    }
    return value;
  }

  /** After the last question: refuses what was given and never asked for. */
  void Finish() const {
    for (const auto& [name, value] : values_) {
      if (asked_.count(name) == 0) Die("unknown flag: " + name);
    }
  }

 private:
  std::map<std::string, std::string> values_;
  std::set<std::string> asked_;
};

}  // namespace bench
