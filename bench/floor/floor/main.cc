// `floor COMMAND --flag value …`: the work that the broker cannot do without, in plain C++ and nothing around
// it. Each command prints one JSON document on stdout.

#include <cstdio>
#include <cstring>

#include "common/histogram.h"
#include "common/json.h"
#include "floor/commands.h"

namespace bench {

int RunHistogram(Args& args) {
  args.Finish();
  Histogram histogram;
  unsigned long long value = 0;
  while (scanf("%llu", &value) == 1) histogram.Record(value);
  Json json;
  json.Open('{').Key("latency").Latency(histogram).Close('}').Print();
  return 0;
}

}  // namespace bench

int main(int argc, char** argv) {
  static constexpr struct {
    const char* name;
    int (*run)(bench::Args&);
  } kCommands[] = {{"append", bench::RunAppend}, {"barrier", bench::RunBarrier},
                   {"scan", bench::RunScan},     {"touch", bench::RunTouch},
                   {"serve", bench::RunServe},   {"histogram", bench::RunHistogram}};
  bench::Args args(argc, argv, 2);
  for (const auto& command : kCommands) {
    if (argc > 1 && strcmp(argv[1], command.name) == 0) return command.run(args);
  }
  fprintf(stderr, "usage: floor append|barrier|scan|touch|serve|histogram [--flag value …]\n");
  return 2;
}
