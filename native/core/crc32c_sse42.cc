// CRC-32C by the crc32 instruction of SSE 4.2. The instruction is enabled for these functions alone and
// chosen at run time, so the addon loads on processors without it.

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"

namespace millrace {

#if defined(__x86_64__)

namespace {

#define MILLRACE_CRC_TARGET __attribute__((target("sse4.2"))) inline

MILLRACE_CRC_TARGET std::uint32_t Step8(std::uint32_t crc, std::uint8_t byte) {
  return __builtin_ia32_crc32qi(crc, byte);
}
MILLRACE_CRC_TARGET std::uint32_t Step64(std::uint32_t crc, std::uint64_t word) {
  return static_cast<std::uint32_t>(__builtin_ia32_crc32di(crc, word));
}

#include "core/crc32c_kernel.inc"

bool Supported() { return __builtin_cpu_supports("sse4.2") != 0; }

}  // namespace

const Crc32c kCrc32cSse42{"sse4.2", Supported, Extend, CopyWithSums};

#else

const Crc32c kCrc32cSse42{"sse4.2", [] { return false; }, nullptr, nullptr};

#endif

}  // namespace millrace
