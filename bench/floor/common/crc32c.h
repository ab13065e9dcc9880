// CRC-32C as fast as this processor has it without much ado: the instruction, eight bytes at a time, three
// streams side by side for long inputs because one result takes three cycles. Not shared with native/core on
// purpose: a floor that took the product's code would sink together with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/** The sum as it stands on disk. Short inputs in one stream, long ones in three. */
uint32_t Crc32c(const uint8_t* data, size_t bytes);

}  // namespace bench
