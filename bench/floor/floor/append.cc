// floor append: how fast batches can get into one file at all.
//
//   --sink mapped    copied into a mapping, blocks reserved
//   --sink pwrite    sums put in while copying to a buffer, one pwrite for each batch
//   --pages fresh    the mapping's pages are faulted in by the copy itself
//   --pages prepared they are there before the clock starts: what a helper thread that keeps up makes of it
//   --flush none     nothing is forced
//   --flush each     an fdatasync behind each batch
//   --flush group    one behind each --group batches

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/clock.h"
#include "common/json.h"
#include "floor/commands.h"
#include "floor/mapped_log.h"
#include "floor/records.h"

namespace bench {
namespace {

// Between two looks at the clock, so that looking does not become what is measured.
constexpr uint64_t kSliceBytes = 64 << 10;

struct Outcome {
  uint64_t batches = 0;
  uint64_t stored = 0;
  uint64_t ns = 0;
  uint64_t worst_slice_ns = 0;
};

/** `fd` is forced behind each `flush_each` batches; 0: never. */
template <typename Write>
Outcome Fill(uint64_t batch_stored, uint64_t total, int fd, uint64_t flush_each, Write write) {
  Outcome outcome;
  const uint64_t begin = NowNs();
  uint64_t slice_began = begin;
  uint64_t slice_ends = kSliceBytes;
  while (outcome.stored + batch_stored <= total) {
    write(outcome.stored);
    outcome.stored += batch_stored;
    outcome.batches++;
    if (flush_each != 0 && outcome.batches % flush_each == 0 && fdatasync(fd) != 0) Die("fdatasync failed");
    if (outcome.stored >= slice_ends) {
      const uint64_t now = NowNs();
      outcome.worst_slice_ns = std::max(outcome.worst_slice_ns, now - slice_began);
      slice_began = now;
      slice_ends = outcome.stored + kSliceBytes;
    }
  }
  outcome.ns = NowNs() - begin;
  return outcome;
}

}  // namespace

int RunAppend(Args& args) {
  const std::string path = args.Text("--path", "floor-append.log");
  const std::string sink = args.Choice("--sink", "mapped", "mapped pwrite");
  const bool prepared = args.Choice("--pages", "fresh", "fresh prepared") == "prepared";
  const bool sums = args.Choice("--format", "crc32c", "crc32c plain") == "crc32c";
  const auto records = static_cast<uint64_t>(args.Number("--records", 1, 1, 1 << 20));
  const auto size = static_cast<uint64_t>(args.Number("--size", 128, 1, 8 << 20));
  const auto total = static_cast<uint64_t>(args.Number("--bytes", 512 << 20, 4096, int64_t{64} << 30));
  const std::string flush = args.Choice("--flush", "none", "none each group");
  const auto group = static_cast<uint64_t>(args.Number("--group", 64, 1, 1 << 20));
  args.Finish();

  const std::vector<uint8_t> region = MakeRegion(records, size);
  const uint64_t stored = StoredBytes(region.size(), records, sums);
  FloorSegment segment(path, total, sink == "mapped");
  if (segment.map != nullptr && prepared) PreparePages(segment.fd, segment.map, 0, total);
  std::vector<uint8_t> batch(stored);
  const uint64_t flush_each = flush == "none" ? 0 : flush == "each" ? 1 : group;
  if (flush_each != 0 && fsync(segment.fd) != 0) Die("fsync failed");

  const CpuTime cpu_before = CpuTime::OfThisProcess();
  const Outcome outcome =
      sink == "mapped" ? Fill(stored, total, segment.fd, flush_each,
                              [&](uint64_t at) {
                                if (!RegionIsSound(region.data(), region.size(), records)) Die("unsound");
                                Store(segment.map + at, region.data(), region.size(), sums);
                              })
                       : Fill(stored, total, segment.fd, flush_each, [&](uint64_t at) {
                           if (!RegionIsSound(region.data(), region.size(), records)) Die("unsound");
                           Store(batch.data(), region.data(), region.size(), sums);
                           const ssize_t n = pwrite(segment.fd, batch.data(), stored, static_cast<off_t>(at));
                           if (n != static_cast<ssize_t>(stored)) Die("pwrite failed");
                         });
  const CpuTime cpu = CpuTime::OfThisProcess() - cpu_before;
  unlink(path.c_str());

  const double seconds = static_cast<double>(outcome.ns) / 1e9;
  Json json;
  json.Open('{').Key("batches").Count(outcome.batches).Key("records").Count(outcome.batches * records);
  json.Key("storedBytes").Count(outcome.stored).Key("seconds").Real(seconds);
  json.Key("batchesPerSecond").Real(static_cast<double>(outcome.batches) / seconds);
  json.Key("storedBytesPerSecond").Real(static_cast<double>(outcome.stored) / seconds);
  json.Key("worstSliceUs").Real(static_cast<double>(outcome.worst_slice_ns) / 1e3);
  json.Key("cpuSeconds").Real(cpu.user + cpu.system).Close('}').Print();
  return 0;
}

}  // namespace bench
