// What sums of three streams are put together with. Moving a sum over n bytes of zeros is multiplying it by
// x^(8n) modulo the polynomial; a carry-less multiplication and one crc step over its 64 bits do that,
// because the step itself multiplies by x^32 and reflected operands by another x. So the factor for n bytes
// is x^(8n − 33).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace {

constexpr std::uint32_t kCrc32cPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits reversed

/** Words of eight bytes in one stream of a block. Longer payloads are several blocks; more words need a
 * larger table. */
constexpr std::size_t kCrc32cStreamWords = 128;

/** [n]: the factor for n words, of one stream and of two. [0] is not used. */
constexpr std::array<std::uint32_t, 2 * kCrc32cStreamWords + 1> MakeCrc32cShifts() {
  std::array<std::uint32_t, 2 * kCrc32cStreamWords + 1> shifts{};
  std::uint32_t factor = 1;  // x^31, reflected: that is 8·8 − 33.
  for (std::size_t words = 1; words < shifts.size(); words++) {
    shifts[words] = factor;
    for (int bit = 0; bit < 64; bit++) factor = (factor >> 1) ^ ((factor & 1) != 0 ? kCrc32cPolynomial : 0);
  }
  return shifts;
}

inline constexpr auto kCrc32cShifts = MakeCrc32cShifts();

}  // namespace millrace
