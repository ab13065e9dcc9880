// Frames come in any pieces: the same frames must come out at every split point, and byte by byte.

#include "core/frame_cutter.h"

#include <string>
#include <vector>

#include "core/selector_abi.h"
#include "test/harness.h"

using namespace millrace;

namespace {

constexpr std::uint32_t kMax = 1000;

struct Table {
  explicit Table(std::uint32_t rows) : rows(rows * kFrameColumns + 1, -7) {}
  std::int32_t at(std::uint32_t row, std::uint32_t column) const {
    return rows[row * kFrameColumns + column];
  }
  std::vector<std::int32_t> rows;
};

std::string Framed(const std::string& contents) {
  std::uint8_t prefix[4];
  StoreBigEndian32(prefix, static_cast<std::uint32_t>(contents.size()));
  return std::string(reinterpret_cast<char*>(prefix), 4) + contents;
}

CutResult Cut(const std::string& bytes, Table& table, std::uint32_t rows_max, std::size_t base = 0) {
  // A copy of just that size, so that a sanitizer sees a look beyond the end.
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  return CutFrames(exact.data(), exact.size(), kMax, 42, base, table.rows.data(), rows_max);
}

std::string Prefix(std::int32_t length) {
  std::uint8_t bytes[4];
  StoreBigEndian32(bytes, static_cast<std::uint32_t>(length));
  return std::string(reinterpret_cast<char*>(bytes), 4);
}

}  // namespace

TEST("whole frames are cut in order, each with its connection, place and length") {
  Table table(3);
  const std::string bytes = Framed("a") + Framed("bcd") + Framed(std::string(kMax, 'x'));
  const CutResult cut = Cut(bytes, table, 3, 100);
  EXPECT_EQ(cut.frames, 3);
  EXPECT_EQ(cut.bytes, bytes.size());
  EXPECT_TRUE(cut.stop == CutStop::kIncomplete);
  EXPECT_EQ(table.at(0, frame_column::kConnection), 42);
  EXPECT_EQ(table.at(0, frame_column::kOffset), 104);
  EXPECT_EQ(table.at(0, frame_column::kLength), 1);
  EXPECT_EQ(table.at(1, frame_column::kOffset), 109);
  EXPECT_EQ(table.at(1, frame_column::kLength), 3);
  EXPECT_EQ(table.at(2, frame_column::kOffset), 116);
  EXPECT_EQ(table.at(2, frame_column::kLength), kMax);
  EXPECT_EQ(table.rows[9], -7);
}

TEST("at every split point the whole frames come out and the rest stays") {
  const std::vector<std::string> contents = {"a", "bc", std::string(300, 'd'), "e", std::string(40, 'f')};
  std::string all;
  for (const std::string& one : contents) all += Framed(one);
  for (std::size_t split = 0; split <= all.size(); split++) {
    Table first(8);
    Table second(8);
    const CutResult before = Cut(all.substr(0, split), first, 8);
    ASSERT_TRUE(before.stop == CutStop::kIncomplete);
    const CutResult after = Cut(all.substr(before.bytes), second, 8, before.bytes);
    ASSERT_EQ(before.frames + after.frames, contents.size());
    ASSERT_EQ(before.bytes + after.bytes, all.size());
    for (std::uint32_t i = 0; i < contents.size(); i++) {
      const bool early = i < before.frames;
      const Table& table = early ? first : second;
      const std::uint32_t row = early ? i : i - before.frames;
      const auto offset = static_cast<std::size_t>(table.at(row, frame_column::kOffset));
      const auto length = static_cast<std::size_t>(table.at(row, frame_column::kLength));
      ASSERT_EQ(all.substr(offset, length), contents[i]);
    }
  }
}

TEST("no row is written beyond the last one, and the frame that had none is reported") {
  Table table(2);
  const std::string bytes = Framed("a") + Framed("b") + Framed("c");
  const CutResult cut = Cut(bytes, table, 2);
  EXPECT_EQ(cut.frames, 2);
  EXPECT_EQ(cut.bytes, 10);
  EXPECT_TRUE(cut.stop == CutStop::kFull);
  EXPECT_EQ(table.rows[6], -7);
  EXPECT_TRUE(Cut(bytes, table, 0).stop == CutStop::kFull);
  EXPECT_TRUE(Cut(bytes.substr(0, 12), table, 2).stop == CutStop::kIncomplete);
}

TEST("a length outside its bounds stops the cutting behind the frames before it") {
  for (const std::int32_t length : {0, -1, INT32_MIN, INT32_MAX, static_cast<std::int32_t>(kMax + 1)}) {
    Table table(4);
    const CutResult cut = Cut(Framed("ok") + Prefix(length) + "rest", table, 4);
    EXPECT_TRUE(cut.stop == CutStop::kBadLength);
    EXPECT_EQ(cut.frames, 1);
    EXPECT_EQ(cut.bytes, 6);
  }
  for (const std::int32_t length : {1, static_cast<std::int32_t>(kMax)}) {
    Table table(1);
    EXPECT_TRUE(Cut(Prefix(length), table, 1).stop == CutStop::kIncomplete);
  }
}

TEST("the size of a frame is known as soon as its prefix is whole") {
  const std::string bytes = Framed("abc");
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  for (std::size_t i = 0; i < 4; i++) EXPECT_EQ(FrameTotal(data, i), 0);
  EXPECT_EQ(FrameTotal(data, 4), 7);
}
