// floor touch: faults in so many bytes of memory and gives them back. How fast that goes is a property of the
// stand (a guest's memory may have to come from its host first), and having done it just before a sample
// keeps that property out of the sample.

#include <sys/mman.h>

#include "common/clock.h"
#include "common/json.h"
#include "floor/commands.h"
#include "floor/mapped_log.h"

namespace bench {

int RunTouch(Args& args) {
  const auto bytes = static_cast<uint64_t>(args.Number("--bytes", 1 << 30, 4096, int64_t{1} << 40));
  args.Finish();
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) Die("no memory");
  const uint64_t begin = NowNs();
  PopulateForWrite(static_cast<uint8_t*>(at), 0, bytes);
  const double seconds = SecondsBetween(begin, NowNs());
  Json json;
  json.Open('{').Key("bytes").Count(bytes).Key("seconds").Real(seconds);
  json.Key("bytesPerSecond").Real(static_cast<double>(bytes) / seconds).Close('}').Print();
  return 0;
}

}  // namespace bench
