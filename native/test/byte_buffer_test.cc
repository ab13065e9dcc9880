// Bytes that wait, against a string that is appended to and cut.

#include "core/byte_buffer.h"

#include <random>
#include <string>

#include "test/harness.h"

using namespace millrace;

namespace {
std::string Text(const ByteBuffer& buffer) {
  return std::string(reinterpret_cast<const char*>(buffer.data()), buffer.size());
}

void Append(ByteBuffer* buffer, const std::string& text, std::size_t all = ByteBuffer::kAnySize) {
  buffer->Append(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), all);
}
}  // namespace

TEST("a buffer gives back in order what was put in, whatever it consumes, grows and shrinks between") {
  std::mt19937 random(42);
  ByteBuffer buffer;
  std::string model;
  for (int i = 0; i < 20'000; i++) {
    if (random() % 2 == 0) {
      const std::string piece(random() % (i % 100 == 0 ? 300'000 : 3000), static_cast<char>('a' + i % 26));
      Append(&buffer, piece);
      model += piece;
    } else {
      const std::size_t count = std::min<std::size_t>(model.size(), random() % (i % 7 == 0 ? 500'000 : 4000));
      buffer.Consume(count);
      model.erase(0, count);
    }
    EXPECT_EQ(buffer.size(), model.size());
    EXPECT_TRUE(buffer.capacity() >= buffer.size());
    if (i % 50 == 0) EXPECT_TRUE(Text(buffer) == model);
  }
}

TEST("a little that is left of much does not keep its memory") {
  ByteBuffer buffer;
  Append(&buffer, std::string(8 << 20, 'x') + "rest");
  buffer.Consume(8 << 20);
  EXPECT_TRUE(buffer.capacity() < 1024);
  EXPECT_TRUE(Text(buffer) == "rest");
}

TEST("no more is taken in advance than will be held") {
  ByteBuffer buffer;
  for (int i = 0; i < 100; i++) Append(&buffer, std::string(10'000, 'x'), 1'000'000);
  EXPECT_EQ(buffer.capacity(), 1'000'000);
}
