#include "loadgen/options.h"

#include "common/wire.h"

namespace bench {

LoadOptions LoadOptions::Parse(Args& args) {
  LoadOptions o;
  o.api = args.Choice("--api", "produce", "produce fetch") == "produce" ? Api::kProduce : Api::kFetch;
  o.host = args.Text("--host", "127.0.0.1");
  o.port = static_cast<uint16_t>(args.Number("--port", 4710, 1, 65535));
  o.unix_path = args.Text("--unix", "");
  o.congestion = args.Text("--congestion", "");
  o.topic = args.Text("--topic", "default");
  if (o.topic.empty() || o.topic.size() > 249) Die("--topic: 1 to 249 bytes");
  o.partitions = static_cast<uint32_t>(args.Number("--partitions", 1, 1, 99999));
  o.connections = static_cast<uint32_t>(args.Number("--connections", 1, 1, 60000));
  o.depth = static_cast<uint32_t>(args.Number("--depth", 1, 1, 65536));
  o.requests = static_cast<uint64_t>(args.Number("--requests", 0, 1, int64_t{1} << 40));
  o.seconds = args.Real("--seconds", 0, 0.01, 86400);
  if ((o.requests == 0) == (o.seconds == 0)) Die("give either --requests or --seconds");
  o.warmup_seconds = args.Real("--warmup", 0, 0, 3600);
  o.rate = args.Real("--rate", 0, 0.001, 1e9);
  o.timeline_ms = static_cast<uint64_t>(args.Number("--timeline-ms", 1000, 1, 3600000));
  o.drain_seconds = args.Real("--drain", 30, 0, 3600);
  o.spin = args.Has("--spin");
  o.size = static_cast<uint32_t>(args.Number("--size", 128, 1, 8 << 20));
  if (o.api == Api::kProduce) {
    o.records = static_cast<uint32_t>(args.Number("--records", 1, 1, 1 << 20));
    const std::string ack = args.Choice("--ack", "written", "none written forced");
    o.ack = ack == "none" ? 0 : ack == "written" ? 1 : 2;
    if (uint64_t{o.records} * (4 + o.size) + 512 > kMaxFrameBytes)
      Die("--records × --size: larger than a frame");
    if (o.ack == 0 && o.rate != 0) Die("--rate: there is no latency with --ack none");
  } else {
    o.max_bytes = static_cast<uint32_t>(args.Number("--max-bytes", 64 << 10, 1, 64 << 20));
    o.from = static_cast<uint64_t>(args.Number("--from", 0, 0, int64_t{1} << 53));
    o.range = static_cast<uint64_t>(args.Number("--range", 0, 1, int64_t{1} << 53));
    o.record_header = args.Choice("--format", "crc32c", "crc32c plain") == "crc32c" ? 8 : 4;
    o.discard = args.Has("--discard");
    o.verify = args.Has("--verify");
    if (o.verify && (o.discard || o.record_header != 8)) Die("--verify: needs the bytes, and sums in them");
    o.waits = args.Has("--max-wait");
    o.max_wait_ms = static_cast<uint32_t>(args.Number("--max-wait", 0, 0, 3600000));
  }
  args.Finish();
  return o;
}

}  // namespace bench
