// CRC-32C by the crc32c instructions of ARMv8, and PMULL to put streams together. Both are optional there and
// asked for at run time; a processor that has only the first (small boards do) sums one stream at a time.

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"
#include "core/crc32c_shift.h"

#if defined(__aarch64__)
#if !defined(__clang__)
#include <arm_acle.h>
#endif
#include <arm_neon.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#endif

namespace millrace {

#if defined(__aarch64__)

namespace {

#if defined(__clang__)
#define MILLRACE_CRC_TARGET __attribute__((target("crc,aes"))) inline
#define MILLRACE_CHAIN_TARGET __attribute__((target("crc"))) inline
// The names of arm_acle.h exist there only when the whole file is compiled for processors that have the
// instructions.
#define __crc32cb __builtin_arm_crc32cb
#define __crc32cd __builtin_arm_crc32cd
#else
#define MILLRACE_CRC_TARGET __attribute__((target("+crc+crypto"))) inline
#define MILLRACE_CHAIN_TARGET __attribute__((target("+crc"))) inline
#endif

#if defined(__linux__)
bool Has(unsigned long capability) { return (getauxval(AT_HWCAP) & capability) != 0; }
bool HasCrc() { return Has(HWCAP_CRC32); }
bool HasPmull() { return Has(HWCAP_PMULL); }
#elif defined(__APPLE__)
bool Has(const char* feature) {
  int present = 0;
  std::size_t size = sizeof present;
  return sysctlbyname(feature, &present, &size, nullptr, 0) == 0 && present != 0;
}
bool HasCrc() { return Has("hw.optional.armv8_crc32"); }
bool HasPmull() { return Has("hw.optional.arm.FEAT_PMULL"); }
#endif

namespace split {
constexpr bool kSplits = true;

MILLRACE_CRC_TARGET std::uint32_t Step8(std::uint32_t state, std::uint8_t byte) {
  return __crc32cb(state, byte);
}
MILLRACE_CRC_TARGET std::uint32_t Step64(std::uint32_t state, std::uint64_t word) {
  return __crc32cd(state, word);
}
MILLRACE_CRC_TARGET std::uint32_t Shift(std::uint32_t state, std::uint32_t factor) {
  const poly128_t product = vmull_p64(state, factor);
  return Step64(0, static_cast<std::uint64_t>(product));
}

#include "core/crc32c_kernel.inc"
bool Supported() { return HasCrc() && HasPmull(); }
}  // namespace split

#undef MILLRACE_CRC_TARGET
#define MILLRACE_CRC_TARGET MILLRACE_CHAIN_TARGET

namespace chain {
constexpr bool kSplits = false;

MILLRACE_CRC_TARGET std::uint32_t Step8(std::uint32_t state, std::uint8_t byte) {
  return __crc32cb(state, byte);
}
MILLRACE_CRC_TARGET std::uint32_t Step64(std::uint32_t state, std::uint64_t word) {
  return __crc32cd(state, word);
}
[[maybe_unused]] std::uint32_t Shift(std::uint32_t state, std::uint32_t) { return state; }

#include "core/crc32c_kernel.inc"
}  // namespace chain

}  // namespace

const Crc32c kCrc32cArmv8{"armv8", split::Supported, split::Extend, split::CopyWithSums};
const Crc32c kCrc32cArmv8Chain{"armv8-chain", HasCrc, chain::Extend, chain::CopyWithSums};

#else

const Crc32c kCrc32cArmv8{"armv8", [] { return false; }, nullptr, nullptr};
const Crc32c kCrc32cArmv8Chain{"armv8-chain", [] { return false; }, nullptr, nullptr};

#endif

}  // namespace millrace
