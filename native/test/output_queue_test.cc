// What is put in comes out, in order, in whatever portions.

#include "core/output_queue.h"

#include <fcntl.h>

#include <algorithm>
#include <string>

#include "core/byte_buffer.h"
#include "test/harness.h"

using namespace millrace;

namespace {

void Append(OutputQueue& queue, const std::string& text) {
  queue.AppendBytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

/** Takes up to `portion` bytes at a time until a slice or the end. */
std::string TakeBytes(OutputQueue& queue, std::size_t portion) {
  std::string taken;
  while (!queue.empty() && !queue.front().is_slice()) {
    const std::size_t part = std::min(portion, queue.front().left);
    taken.append(reinterpret_cast<const char*>(queue.front().data()), part);
    queue.Consume(part);
  }
  return taken;
}

FilePtr SomeFile() { return std::make_shared<File>(Fd(open("/dev/null", O_RDONLY)), "/dev/null"); }

std::string Pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; i++) text[i] = static_cast<char>(i * 131 + (i >> 8));
  return text;
}

}  // namespace

TEST("bytes come out in order whatever the portions were") {
  for (const std::size_t portion :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, std::size_t{1} << 20}) {
    OutputQueue queue;
    const std::string all = Pattern(portion == 1 ? 20'000 : 700'000);
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t part = std::min(all.size() - at, 1 + (at * 37) % 9000);
      Append(queue, all.substr(at, part));
      at += part;
    }
    EXPECT_EQ(queue.bytes(), all.size());
    EXPECT_TRUE(TakeBytes(queue, portion) == all);
    EXPECT_EQ(queue.bytes(), 0);
    EXPECT_TRUE(queue.empty());
  }
}

TEST("what it holds in memory is counted, so that many small heads of slices do not pass for few bytes") {
  OutputQueue queue;
  EXPECT_EQ(queue.held(), 0);
  FilePtr file = SomeFile();
  for (int i = 0; i < 1000; i++) {
    Append(queue, "a head of a slice");
    queue.AppendSlice(file, i, 10);
  }
  EXPECT_EQ(queue.bytes(), 17'000);
  EXPECT_TRUE(queue.held() > 500'000);
  EXPECT_TRUE(queue.held() < 1'000'000);
  while (!queue.empty()) queue.Consume(queue.front().left);
  EXPECT_EQ(queue.held(), 0);
  Append(queue, Pattern(100'000));
  EXPECT_TRUE(queue.held() >= 100'000);
  queue.Clear();
  EXPECT_EQ(queue.held(), 0);
}

TEST("a slice keeps its place between bytes, and its file until its last byte") {
  OutputQueue queue;
  FilePtr file = SomeFile();
  Append(queue, "before");
  queue.AppendSlice(file, 100, 50);
  Append(queue, "after");
  EXPECT_EQ(queue.bytes(), 11);
  EXPECT_EQ(file.use_count(), 2);

  EXPECT_EQ(TakeBytes(queue, 4), "before");
  ASSERT_TRUE(queue.front().is_slice());
  queue.Consume(20);
  EXPECT_EQ(queue.front().position, 120);
  EXPECT_EQ(queue.front().left, 30);
  EXPECT_EQ(file.use_count(), 2);
  queue.Consume(30);
  EXPECT_EQ(file.use_count(), 1);
  EXPECT_EQ(TakeBytes(queue, 100), "after");
  EXPECT_TRUE(queue.empty());
}

TEST("nothing is queued for nothing") {
  OutputQueue queue;
  Append(queue, "");
  queue.AppendSlice(SomeFile(), 0, 0);
  EXPECT_TRUE(queue.empty());
}

TEST("clearing lets go of files and can be done with a very long queue") {
  OutputQueue queue;
  FilePtr file = SomeFile();
  for (int i = 0; i < 200'000; i++) queue.AppendSlice(file, i, 1);
  queue.Clear();
  EXPECT_EQ(file.use_count(), 1);
  EXPECT_TRUE(queue.empty());
  Append(queue, "again");
  EXPECT_EQ(TakeBytes(queue, 2), "again");
}

TEST("a byte buffer gives back what was appended, however it is consumed") {
  ByteBuffer buffer;
  const std::string all = Pattern(300'000);
  std::string taken;
  std::size_t put = 0;
  for (std::size_t step = 1; taken.size() < all.size(); step = step * 5 % 9973) {
    const std::size_t in = std::min(step, all.size() - put);
    buffer.Append(reinterpret_cast<const std::uint8_t*>(all.data()) + put, in);
    put += in;
    const std::size_t out = std::min(buffer.size(), step / 2 + 1);
    taken.append(reinterpret_cast<const char*>(buffer.data()), out);
    buffer.Consume(out);
    ASSERT_EQ(buffer.size(), put - taken.size());
  }
  EXPECT_TRUE(taken == all);
  EXPECT_TRUE(buffer.empty());
  buffer.Release();
  EXPECT_EQ(buffer.capacity(), 0);
}

TEST("a byte buffer takes memory for what it holds, not much more") {
  ByteBuffer buffer;
  const std::string text = Pattern(1000);
  for (int i = 0; i < 1000; i++) {
    buffer.Append(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    EXPECT_LE(buffer.capacity(), 2 * buffer.size() + 256);
  }
  // A window that moves does not grow.
  for (int i = 0; i < 10'000; i++) {
    buffer.Append(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    buffer.Consume(text.size());
  }
  EXPECT_LE(buffer.capacity(), 4'000'000);
}

TEST("an answer that cannot be read gives way to what was to be sent instead, with all that belongs to it") {
  OutputQueue queue;
  const auto append = [&](const std::string& text, bool continues) {
    queue.AppendBytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), continues);
  };
  const std::string head = "head" + std::string("other answer");
  const auto begin = [&] {
    queue.AppendHead(reinterpret_cast<const std::uint8_t*>(head.data()), 4, 12);
    queue.AppendSlice(SomeFile(), 0, 100);
    append("second head", true);
    queue.AppendSlice(SomeFile(), 7, 200);
    append("last head", true);
  };
  int files = 0;
  const auto take = [&](const FilePtr& file) { files += file != nullptr ? 1 : 0; };

  append("before", false);
  begin();
  append("behind", false);
  EXPECT_FALSE(queue.front().is_replaceable());
  queue.Consume(6);
  EXPECT_TRUE(queue.front().is_replaceable());
  EXPECT_FALSE(queue.ReplaceFront(take));
  EXPECT_EQ(files, 2);
  EXPECT_EQ(queue.bytes(), 18);
  EXPECT_FALSE(queue.front().is_replaceable());
  EXPECT_TRUE(TakeBytes(queue, 5) == "other answerbehind");
  EXPECT_EQ(queue.bytes(), 0);
  EXPECT_EQ(queue.held(), 0);

  // Nothing is behind it yet, so more of it may come, and it is whole all the same.
  begin();
  EXPECT_TRUE(queue.ReplaceFront(take));
  append("next", false);
  EXPECT_TRUE(TakeBytes(queue, 100) == "other answernext");
  EXPECT_EQ(queue.held(), 0);

  // Part of it has left.
  begin();
  queue.Consume(1);
  EXPECT_FALSE(queue.front().is_replaceable());
}
