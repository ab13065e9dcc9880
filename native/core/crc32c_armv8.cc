// CRC-32C by the crc32c instructions of ARMv8, which are optional there: asked for at run time.

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"

#if defined(__aarch64__)
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
#define MILLRACE_CRC_TARGET __attribute__((target("crc"))) inline
#else
#define MILLRACE_CRC_TARGET __attribute__((target("+crc"))) inline
#endif

MILLRACE_CRC_TARGET std::uint32_t Step8(std::uint32_t crc, std::uint8_t byte) {
#if defined(__clang__)
  return __builtin_arm_crc32cb(crc, byte);
#else
  return __builtin_aarch64_crc32cb(crc, byte);
#endif
}
MILLRACE_CRC_TARGET std::uint32_t Step64(std::uint32_t crc, std::uint64_t word) {
#if defined(__clang__)
  return __builtin_arm_crc32cd(crc, word);
#else
  return __builtin_aarch64_crc32cx(crc, word);
#endif
}

#include "core/crc32c_kernel.inc"

bool Supported() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#elif defined(__APPLE__)
  int present = 0;
  std::size_t size = sizeof present;
  return sysctlbyname("hw.optional.armv8_crc32", &present, &size, nullptr, 0) == 0 && present != 0;
#else
  return false;
#endif
}

}  // namespace

const Crc32c kCrc32cArmv8{"armv8", Supported, Extend, CopyWithSums};

#else

const Crc32c kCrc32cArmv8{"armv8", [] { return false; }, nullptr, nullptr};

#endif

}  // namespace millrace
