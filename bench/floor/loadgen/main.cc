// `loadgen --api produce|fetch --flag value …`: puts load on a broker and prints what came of it as JSON on
// stdout. Exits 2 on anything that would make the figures worth nothing: a lost connection, an answer out of
// order, a payload that is not what was asked for.

#include "loadgen/run.h"

int main(int argc, char** argv) {
  bench::Args args(argc, argv, 1);
  const bench::LoadOptions options = bench::LoadOptions::Parse(args);
  bench::Run run(options);
  run.Open();
  run.Go();
  run.Print();
  return 0;
}
