// floor serve: starts the server, says where it listens in one line like the broker's, and prints what it
// counted when it is told to stop (SIGTERM).

#include <sys/stat.h>

#include <csignal>

#include "common/clock.h"
#include "common/json.h"
#include "floor/commands.h"
#include "floor/server.h"

namespace bench {
namespace {
volatile int stop_asked = 0;
}

int RunServe(Args& args) {
  ServerOptions options;
  options.host = args.Text("--host", "127.0.0.1");
  options.port = static_cast<uint16_t>(args.Number("--port", 0, 0, 65535));
  options.congestion = args.Text("--congestion", "");
  options.zero_copy = args.Choice("--fetch", "sendfile", "sendfile heap") == "sendfile";
  options.record_size = static_cast<uint64_t>(args.Number("--size", 128, 1, 8 << 20));
  options.receive_bytes = static_cast<uint64_t>(args.Number("--receive", 256 << 10, 4096, 16 << 20));
  LogOptions log;
  log.directory = args.Text("--dir", ".");
  const std::string sink_name = args.Choice("--sink", "mapped", "mapped pwrite none");
  const bool sums = args.Choice("--format", "crc32c", "crc32c plain") == "crc32c";
  log.segment_bytes = static_cast<uint64_t>(args.Number("--segment", 128 << 20, 1 << 20, int64_t{1} << 30));
  log.prepared = args.Choice("--pages", "prepared", "prepared fresh") == "prepared";
  log.force_full = args.Has("--force-full");
  const auto partitions = static_cast<uint32_t>(args.Number("--partitions", 1, 1, 4096));
  options.forcers = static_cast<uint32_t>(args.Number("--forcers", 1, 1, 64));
  log.ahead = static_cast<uint64_t>(args.Number("--ahead", 64 << 20, 1 << 20, int64_t{1} << 40));
  log.keep = static_cast<uint64_t>(args.Number("--keep", 0, 1, 1 << 20));
  args.Finish();

  struct sigaction action{};
  action.sa_handler = [](int) { stop_asked = 1; };  // no SA_RESTART: epoll_wait must return
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);

  const SinkKind kind = sink_name == "mapped"   ? SinkKind::kMapped
                        : sink_name == "pwrite" ? SinkKind::kPwrite
                                                : SinkKind::kNone;
  Sinks sinks;
  for (uint32_t i = 0; i < partitions; i++) {
    LogOptions own = log;
    if (partitions > 1) own.directory += "/" + std::to_string(i);
    if (partitions > 1 && mkdir(own.directory.c_str(), 0700) != 0) Die("cannot create " + own.directory);
    sinks.push_back(std::make_unique<Sink>(kind, sums, std::move(own)));
  }
  Server server(options, std::move(sinks));
  printf("floor ready host=%s port=%u pid=%d\n", options.host.c_str(), server.port(), getpid());
  fflush(stdout);
  const ServerCounts counts = server.Run(&stop_asked);
  const CpuTime cpu = CpuTime::OfThisProcess();

  Json json;
  json.Open('{').Key("frames").Count(counts.frames).Key("batches").Count(counts.batches);
  json.Key("records").Count(counts.records).Key("fetches").Count(counts.fetches);
  json.Key("barriers").Count(counts.barriers).Key("cpuSeconds").Real(cpu.user + cpu.system);
  json.Close('}').Print();
  return 0;
}

}  // namespace bench
