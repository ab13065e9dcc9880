// CRC-32C by the crc32 instruction of SSE 4.2. The instruction is enabled for these functions alone and
// chosen at run time, so the addon loads on processors without it.

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"
#include "core/crc32c_shift.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

namespace millrace {

#if defined(__x86_64__)

namespace {

#define MILLRACE_CRC_TARGET __attribute__((target("sse4.2,pclmul"))) inline

constexpr bool kSplits = true;

MILLRACE_CRC_TARGET std::uint32_t Step8(std::uint32_t state, std::uint8_t byte) {
  return _mm_crc32_u8(state, byte);
}
MILLRACE_CRC_TARGET std::uint32_t Step64(std::uint32_t state, std::uint64_t word) {
  return static_cast<std::uint32_t>(_mm_crc32_u64(state, word));
}
MILLRACE_CRC_TARGET std::uint32_t Shift(std::uint32_t state, std::uint32_t factor) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128(static_cast<int>(state)),
                                               _mm_cvtsi32_si128(static_cast<int>(factor)), 0);
  return Step64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(product)));
}

#include "core/crc32c_kernel.inc"

bool Supported() { return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0; }

}  // namespace

const Crc32c kCrc32cSse42{"sse4.2", Supported, Extend, CopyWithSums};

#else

const Crc32c kCrc32cSse42{"sse4.2", [] { return false; }, nullptr, nullptr};

#endif

}  // namespace millrace
