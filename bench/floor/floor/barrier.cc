// floor barrier: what one small write and a barrier behind it cost on this disk, in the ways a log can do it.
//
//   --how growing     pwrite at the end, fdatasync: the file's size changes with each write
//   --how reserved    the same over blocks reserved with fallocate: the first write of a block turns it from
//   unwritten to written
//   --how written     the same over blocks that were written before
//   --how msync       a store into a mapping of reserved blocks, ranged msync
//   --how mapped      the same, fdatasync

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "common/clock.h"
#include "common/histogram.h"
#include "common/json.h"
#include "floor/commands.h"
#include "floor/mapped_log.h"

namespace bench {

int RunBarrier(Args& args) {
  const std::string path = args.Text("--path", "floor-barrier.log");
  const std::string how = args.Choice("--how", "reserved", "growing reserved written msync mapped");
  const auto size = static_cast<uint64_t>(args.Number("--size", 128, 1, 1 << 20));
  const auto count = static_cast<uint64_t>(args.Number("--count", 2000, 1, 10'000'000));
  args.Finish();

  constexpr uint64_t kPage = 4096;
  const uint64_t total = (size * count + kPage) & ~(kPage - 1);
  const bool maps = how == "msync" || how == "mapped";
  std::unique_ptr<FloorSegment> segment;
  if (how != "growing") segment = std::make_unique<FloorSegment>(path, total, maps);
  const int fd = segment ? segment->fd : open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) Die("cannot create " + path);
  std::vector<uint8_t> bytes(size, 'x');
  if (how == "written") {
    const std::vector<uint8_t> zeros(total);
    if (pwrite(fd, zeros.data(), total, 0) != static_cast<ssize_t>(total)) Die("pwrite failed");
  }
  if (fsync(fd) != 0) Die("fsync failed");

  Histogram histogram;
  const uint64_t begin = NowNs();
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t at = i * size;
    const uint64_t began = NowNs();
    int failed = 0;
    if (maps) {
      memcpy(segment->map + at, bytes.data(), size);
      const uint64_t page = at & ~(kPage - 1);
      failed = how == "msync" ? msync(segment->map + page, at + size - page, MS_SYNC) : fdatasync(fd);
    } else {
      if (pwrite(fd, bytes.data(), size, static_cast<off_t>(at)) != static_cast<ssize_t>(size)) failed = 1;
      failed |= fdatasync(fd);
    }
    if (failed != 0) Die("barrier failed");
    histogram.Record(NowNs() - began);
  }
  const double seconds = SecondsBetween(begin, NowNs());
  unlink(path.c_str());

  Json json;
  json.Open('{').Key("barriers").Count(count).Key("seconds").Real(seconds);
  json.Key("barriersPerSecond").Real(static_cast<double>(count) / seconds);
  json.Key("latency").Latency(histogram).Close('}').Print();
  return 0;
}

}  // namespace bench
