// CRC-32C of every kind against the definition, bit by bit: every length around the places where the loops
// change, sums that come in pieces, and the copy that inserts sums.

#include "core/crc32c.h"

#include <cstring>

#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

std::vector<const Crc32c*> Kinds() {
  std::vector<const Crc32c*> kinds;
  for (const Crc32c* kind : kCrc32cTable) {
    if (kind->supported()) kinds.push_back(kind);
  }
  return kinds;
}

TEST("the check value") {
  const char* text = "123456789";
  for (const Crc32c* kind : Kinds()) {
    EXPECT_EQ(kind->extend(0, reinterpret_cast<const std::uint8_t*>(text), 9), 0xE3069283u);
  }
}

TEST("every length up to two blocks and a bit, at every alignment of eight") {
  const Memory bytes = Payload(8 + 2 * 3 * 1024 + 64, 5);
  for (std::size_t length = 0; length + 8 <= bytes.size(); length += length < 900 ? 1 : 47) {
    const std::size_t from = length % 8;
    const std::uint32_t expected = SlowCrc32c(bytes.data() + from, length);
    for (const Crc32c* kind : Kinds()) {
      if (kind->extend(0, bytes.data() + from, length) != expected) {
        EXPECT_EQ(std::string(kind->name) + " of length " + std::to_string(length), "the definition");
      }
    }
  }
}

TEST("a sum that comes in two pieces, cut anywhere") {
  const Memory bytes = Payload(700, 9);
  const std::uint32_t expected = SlowCrc32c(bytes.data(), bytes.size());
  for (const Crc32c* kind : Kinds()) {
    for (std::size_t cut = 0; cut <= bytes.size(); cut++) {
      const std::uint32_t first = kind->extend(0, bytes.data(), cut);
      EXPECT_EQ(kind->extend(first, bytes.data() + cut, bytes.size() - cut), expected);
    }
  }
}

TEST("the copy inserts the sums and leaves the first length out") {
  const std::vector<std::uint32_t> sizes = {1, 7, 8, 9, 127, 128, 129, 191, 192, 193, 4096, 10'000, 3};
  const Memory wire = Wire(sizes);
  Memory expected = Stored(RecordFormatId::kCrc32c, sizes);
  std::memset(expected.data(), 0xEE, 4);
  for (const Crc32c* kind : Kinds()) {
    Memory out(expected.size() + 8, 0xEE);
    kind->copy_with_sums(wire.data(), wire.data() + wire.size(), static_cast<std::uint32_t>(sizes.size()),
                         out.data());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.begin()));
    for (std::size_t i = expected.size(); i < out.size(); i++) EXPECT_EQ(out[i], 0xEE);
  }
}

TEST("a size that was changed after the check does not lead out of the region") {
  // Somebody else may write to shared memory between the check and the copy.
  Memory wire = Wire({20, 20});
  wire[24] = 0x7F;
  for (const Crc32c* kind : Kinds()) {
    Memory out(1024, 0);
    kind->copy_with_sums(wire.data(), wire.data() + wire.size(), 2, out.data());
    for (std::size_t i = 28; i < out.size(); i++) EXPECT_EQ(out[i], 0);
  }
}

TEST("a size that was changed to end where no header fits any more does not lead out of the region") {
  for (const std::uint8_t changed : {41, 42, 44}) {
    // Exactly as large as it says, so that a sanitizer sees the first byte that is read behind it.
    Memory wire = Wire({20, 20});
    wire[3] = changed;
    for (const Crc32c* kind : Kinds()) {
      Memory out(1024, 0);
      kind->copy_with_sums(wire.data(), wire.data() + wire.size(), 2, out.data());
      for (std::size_t i = 8 + std::size_t{changed}; i < out.size(); i++) EXPECT_EQ(out[i], 0);
    }
  }
}

TEST("the active kind is one of those that run here") {
  bool found = false;
  for (const Crc32c* kind : Kinds()) found = found || kind == &ActiveCrc32c();
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace millrace::test
