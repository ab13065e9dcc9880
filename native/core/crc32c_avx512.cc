// CRC-32C by carry-less multiplication of four lanes at once (VPCLMULQDQ with AVX-512). The instruction for
// the sum takes eight bytes in a cycle and no more, which for records of 100 bytes and up is the larger part
// of storing them. Chosen at run time, like the others.
//
// A block of 64 bytes is moved over those behind it by multiplying each half of a lane by x^n modulo the
// polynomial and adding what comes there; at the end the lanes are moved over each other, and the sum's own
// instruction takes the 16 bytes that are left. Operands are reflected, which multiplies a product by another
// x: so a half that lies n bits in front of the place that it is moved to takes the factor x^(n − 1).

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c.h"
#include "core/crc32c_shift.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace millrace {

#if defined(__x86_64__)

namespace {

#define MILLRACE_WIDE \
  __attribute__((target("sse4.2,avx512f,avx512dq,vpclmulqdq"), always_inline)) static inline

constexpr std::size_t kBlock = 64;
/** Below, putting the lanes together takes longer than the sum. */
constexpr std::size_t kWideBytes = 2 * kBlock;
/** From here on four blocks are under way at once: one multiplication waits four cycles for the one before.
 */
constexpr std::size_t kFourBytes = 8 * kBlock;

/** x^n modulo the polynomial, reflected, in the upper half of a word. */
constexpr long long Power(int n) {
  std::uint32_t factor = 0x80000000;
  for (; n > 0; n--) factor = (factor >> 1) ^ ((factor & 1) != 0 ? kCrc32cPolynomial : 0);
  return static_cast<long long>(static_cast<unsigned long long>(factor) << 32);
}

/** Of a lane that is moved over `bits` bits: its first half lies 64 further in front. */
constexpr long long First(int bits) { return Power(bits + 63); }
constexpr long long Second(int bits) { return Power(bits - 1); }

alignas(64) constexpr long long kOverOne[8] = {First(512), Second(512), First(512), Second(512),
                                               First(512), Second(512), First(512), Second(512)};
alignas(64) constexpr long long kOverFour[8] = {First(2048), Second(2048), First(2048), Second(2048),
                                                First(2048), Second(2048), First(2048), Second(2048)};
/** Each lane over those behind it; the last one stays. */
alignas(64) constexpr long long kTogether[8] = {First(384), Second(384), First(256), Second(256),
                                                First(128), Second(128), 0,          0};

MILLRACE_WIDE __m512i Move(__m512i lanes, __m512i factors, __m512i onto) {
  const __m512i first = _mm512_clmulepi64_epi128(lanes, factors, 0x00);
  const __m512i second = _mm512_clmulepi64_epi128(lanes, factors, 0x11);
  return _mm512_ternarylogic_epi64(first, second, onto, 0x96);  // the exclusive or of all three
}

MILLRACE_WIDE __m512i Load(const std::uint8_t* from, std::uint8_t* to) {
  const __m512i block = _mm512_loadu_si512(from);
  if (to != nullptr) _mm512_storeu_si512(to, block);
  return block;
}

/** The state after whole blocks, at least one; `to` may be null, else they are copied. */
MILLRACE_WIDE std::uint32_t Blocks(std::uint32_t state, const std::uint8_t* from, std::size_t blocks,
                                   std::uint8_t* to) {
  const __m512i over_one = _mm512_load_si512(kOverOne);
  const auto at = [to](std::size_t offset) { return to == nullptr ? nullptr : to + offset; };
  const __m512i begin = _mm512_maskz_set1_epi32(1, static_cast<int>(state));
  std::size_t done = kBlock;
  __m512i sum = _mm512_xor_si512(Load(from, to), begin);
  if (blocks >= kFourBytes / kBlock) {
    const __m512i over_four = _mm512_load_si512(kOverFour);
    __m512i second = Load(from + kBlock, at(kBlock));
    __m512i third = Load(from + 2 * kBlock, at(2 * kBlock));
    __m512i fourth = Load(from + 3 * kBlock, at(3 * kBlock));
    for (done = 4 * kBlock; done + 4 * kBlock <= blocks * kBlock; done += 4 * kBlock) {
      sum = Move(sum, over_four, Load(from + done, at(done)));
      second = Move(second, over_four, Load(from + done + kBlock, at(done + kBlock)));
      third = Move(third, over_four, Load(from + done + 2 * kBlock, at(done + 2 * kBlock)));
      fourth = Move(fourth, over_four, Load(from + done + 3 * kBlock, at(done + 3 * kBlock)));
    }
    sum = Move(Move(Move(sum, over_one, second), over_one, third), over_one, fourth);
  }
  for (; done < blocks * kBlock; done += kBlock) sum = Move(sum, over_one, Load(from + done, at(done)));
  const __m512i lanes = Move(sum, _mm512_load_si512(kTogether), _mm512_maskz_mov_epi64(0xC0, sum));
  // With a mask that keeps all: without one, GCC 12 warns of its own headers.
  const __m256i halves = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xFF, lanes, 0),
                                          _mm512_maskz_extracti64x4_epi64(0xFF, lanes, 1));
  const __m128i rest = _mm_xor_si128(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  const auto first = static_cast<std::uint64_t>(_mm_cvtsi128_si64(rest));
  const auto second = static_cast<std::uint64_t>(_mm_extract_epi64(rest, 1));
  return static_cast<std::uint32_t>(_mm_crc32_u64(_mm_crc32_u64(0, first), second));
}

/** The sum of `count` bytes behind that of `crc`, which are copied unless `to` is null. */
MILLRACE_WIDE std::uint32_t Sum(std::uint32_t crc, const std::uint8_t* from, std::size_t count,
                                std::uint8_t* to) {
  std::uint32_t state = ~crc;
  std::size_t done = 0;
  if (count >= kWideBytes) {
    done = count - count % kBlock;
    state = Blocks(state, from, done / kBlock, to);
  }
  for (; count - done >= 8; done += 8) {
    std::uint64_t word;
    std::memcpy(&word, from + done, 8);
    if (to != nullptr) std::memcpy(to + done, &word, 8);
    state = static_cast<std::uint32_t>(_mm_crc32_u64(state, word));
  }
  for (; done < count; done++) {
    if (to != nullptr) to[done] = from[done];
    state = _mm_crc32_u8(state, from[done]);
  }
  return ~state;
}

__attribute__((target("sse4.2,avx512f,avx512dq,vpclmulqdq"))) std::uint32_t Extend(std::uint32_t crc,
                                                                                   const std::uint8_t* bytes,
                                                                                   std::size_t count) {
  return Sum(crc, bytes, count, nullptr);
}

__attribute__((target("sse4.2,avx512f,avx512dq,vpclmulqdq"))) void CopyWithSums(const std::uint8_t* wire,
                                                                                const std::uint8_t* wire_end,
                                                                                std::uint32_t records,
                                                                                std::uint8_t* out) {
  for (std::uint32_t i = 0; i < records; i++) {
    // Memory that is shared may have changed since it was checked.
    if (wire_end - wire < 4) return;
    const std::uint32_t size = LoadBigEndian32(wire);
    wire += 4;
    if (size > static_cast<std::size_t>(wire_end - wire)) return;
    StoreBigEndian32(out + 4, Sum(0, wire, size, out + 8));
    if (i > 0) StoreBigEndian32(out, size);
    wire += size;
    out += 8 + size;
  }
}

bool Supported() {
  return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
}

}  // namespace

const Crc32c kCrc32cAvx512{"avx512", Supported, Extend, CopyWithSums};

#else

const Crc32c kCrc32cAvx512{"avx512", [] { return false; }, nullptr, nullptr};

#endif

}  // namespace millrace
