// floor scan: reads a segment in pieces and checks every record: the least that a recovery has to do. With
// --cold it does first what a recovery does that trusts the disk alone: forces the file and drops its cached
// pages.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "common/clock.h"
#include "common/json.h"
#include "floor/commands.h"
#include "floor/records.h"

namespace bench {

int RunScan(Args& args) {
  const std::string path = args.Text("--path", "");
  const bool sums = args.Choice("--format", "crc32c", "crc32c plain") == "crc32c";
  const auto piece = static_cast<uint64_t>(args.Number("--piece", 256 << 10, 4096, 64 << 20));
  const bool cold = args.Has("--cold");
  args.Finish();

  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) Die("cannot open " + path);
  const uint64_t header = sums ? 8 : 4;
  std::vector<uint8_t> buffer(piece);
  uint64_t held = 0;      // bytes in the buffer
  uint64_t position = 0;  // of the buffer's first byte in the file
  uint64_t records = 0;
  bool ended = false;
  const CpuTime cpu_before = CpuTime::OfThisProcess();
  const uint64_t begin = NowNs();
  if (cold && (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)) Die("cannot drop pages");
  while (!ended) {
    const ssize_t n =
        pread(fd, buffer.data() + held, buffer.size() - held, static_cast<off_t>(position + held));
    if (n < 0) Die("pread failed");
    if (n == 0) break;
    held += static_cast<uint64_t>(n);
    uint64_t at = 0;
    while (held - at >= header) {
      const uint64_t size = Get32(buffer.data() + at);
      if (size == 0 || size > (uint64_t{1} << 30)) {
        ended = true;
        break;
      }
      if (held - at - header < size) {
        if (header + size > buffer.size()) buffer.resize(header + size);
        break;
      }
      if (sums && Crc32c(buffer.data() + at + 8, size) != Get32(buffer.data() + at + 4)) Die("bad sum");
      records++;
      at += header + size;
    }
    memmove(buffer.data(), buffer.data() + at, held - at);
    held -= at;
    position += at;
  }
  const double seconds = SecondsBetween(begin, NowNs());
  const CpuTime cpu = CpuTime::OfThisProcess() - cpu_before;
  close(fd);

  Json json;
  json.Open('{').Key("records").Count(records).Key("bytes").Count(position).Key("seconds").Real(seconds);
  json.Key("bytesPerSecond").Real(static_cast<double>(position) / seconds);
  json.Key("cpuSeconds").Real(cpu.user + cpu.system).Close('}').Print();
  return 0;
}

}  // namespace bench
