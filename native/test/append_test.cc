// A turn's append table: many rows of several writers in one call, and what becomes of the others when one of
// them fails.

#include "core/append.h"

#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

constexpr std::int32_t kOk = static_cast<std::int32_t>(AppendStatus::kOk);
constexpr std::int32_t kCorrupt = static_cast<std::int32_t>(AppendStatus::kCorrupt);
constexpr std::int32_t kTooLarge = static_cast<std::int32_t>(AppendStatus::kTooLarge);
constexpr std::int32_t kNoRoom = static_cast<std::int32_t>(AppendStatus::kNoRoom);
constexpr std::int32_t kIoError = static_cast<std::int32_t>(AppendStatus::kIoError);

/** A turn whose rows are regions of one source. */
class Turn {
 public:
  explicit Turn(Appender* appender, std::uint32_t index_room = 100)
      : appender_(appender), index_(index_room * 3) {}

  void Add(std::int32_t writer, const Memory& wire, std::int32_t records) {
    const auto offset = static_cast<std::int32_t>(source_.size());
    for (const std::int32_t value :
         {writer, 0, offset, static_cast<std::int32_t>(wire.size()), records, -1, -1, -1}) {
      table_.push_back(value);
    }
    Append(&source_, wire);
  }
  std::uint32_t Run() {
    const Source source{source_.data(), source_.size()};
    const AppendResult result =
        appender_->Run({table_.data(), static_cast<std::uint32_t>(table_.size() / 8), &source, 1,
                        index_.data(), static_cast<std::uint32_t>(index_.size() / 3)});
    EXPECT_EQ(result.fault, TableFault::kNone);
    return result.index_rows;
  }
  std::int32_t status(std::size_t row) const { return table_[row * 8 + append_column::kStatus]; }
  std::int32_t end(std::size_t row) const { return table_[row * 8 + append_column::kEnd]; }
  std::int32_t error(std::size_t row) const { return table_[row * 8 + append_column::kErrno]; }
  std::vector<std::int32_t>& table() { return table_; }
  const std::vector<std::uint32_t>& index() const { return index_; }

 private:
  Appender* const appender_;
  std::vector<std::int32_t> table_;
  Memory source_;
  std::vector<std::uint32_t> index_;
};

std::shared_ptr<SegmentWriter> Created(const SegmentWriterConfig& config) {
  SysError error;
  auto writer = SegmentWriter::Create(config, &error);
  EXPECT_EQ(error.code, 0);
  return writer;
}

TEST("rows of two writers, mixed: each segment holds its own, in the order of the table") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    Appender appender;
    const auto a = appender.writers().Add(Created(Config(dir.At("a"), mode, RecordFormatId::kCrc32c)));
    const auto b = appender.writers().Add(Created(Config(dir.At("b"), mode, RecordFormatId::kPlain)));
    Turn turn(&appender);
    turn.Add(a, Wire({10, 20}, 1), 2);
    turn.Add(b, Wire({30}, 3), 1);
    turn.Add(b, Wire({40}, 4), 1);
    turn.Add(a, Wire({50}, 5), 1);
    turn.Run();
    Memory of_a = Stored(RecordFormatId::kCrc32c, {10, 20}, 1);
    EXPECT_EQ(turn.end(0), of_a.size());
    Append(&of_a, Stored(RecordFormatId::kCrc32c, {50}, 5));
    Memory of_b = Stored(RecordFormatId::kPlain, {30}, 3);
    EXPECT_EQ(turn.end(1), of_b.size());
    Append(&of_b, Stored(RecordFormatId::kPlain, {40}, 4));
    EXPECT_EQ(turn.end(2), of_b.size());
    EXPECT_EQ(turn.end(3), of_a.size());
    for (int row = 0; row < 4; row++) EXPECT_EQ(turn.status(row), kOk);
    Memory file_a = ReadWhole(dir.At("a"));
    Memory file_b = ReadWhole(dir.At("b"));
    file_a.resize(of_a.size());
    file_b.resize(of_b.size());
    EXPECT_TRUE(file_a == of_a);
    EXPECT_TRUE(file_b == of_b);
  }
}

TEST("a corrupt row and one that is too large are left out, the others are kept") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    Appender appender;
    const auto id = appender.writers().Add(Created(Config(dir.At("a"), mode, RecordFormatId::kPlain, 1000)));
    Turn turn(&appender);
    turn.Add(id, Wire({10}), 1);
    turn.Add(id, Wire({10}), 2);
    turn.Add(id, Wire({997}), 1);
    turn.Add(id, Wire({996}), 1);
    turn.Add(id, Wire({11}), 1);
    turn.Run();
    EXPECT_EQ(turn.status(0), kOk);
    EXPECT_EQ(turn.status(1), kCorrupt);
    EXPECT_EQ(turn.status(2), kTooLarge);
    EXPECT_EQ(turn.status(3), kNoRoom);
    EXPECT_EQ(turn.end(1), 14);
    EXPECT_EQ(turn.end(2), 14);
    EXPECT_EQ(turn.end(3), 14);
  }
}

TEST("after a batch that found no room no later one of the turn overtakes it; the next turn is free again") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    Appender appender;
    const auto a = appender.writers().Add(Created(Config(dir.At("a"), mode, RecordFormatId::kPlain, 1000)));
    const auto b = appender.writers().Add(Created(Config(dir.At("b"), mode, RecordFormatId::kPlain, 1000)));
    Turn turn(&appender);
    turn.Add(a, Wire({600}), 1);
    turn.Add(a, Wire({600}), 1);
    turn.Add(a, Wire({10}), 1);
    turn.Add(b, Wire({10}), 1);
    turn.Add(a, Wire({10}), 1);
    turn.Run();
    EXPECT_EQ(turn.status(0), kOk);
    EXPECT_EQ(turn.status(1), kNoRoom);
    EXPECT_EQ(turn.status(2), kNoRoom);
    EXPECT_EQ(turn.status(3), kOk);
    EXPECT_EQ(turn.status(4), kNoRoom);
    EXPECT_EQ(turn.end(4), 604);
    Turn next(&appender);
    next.Add(a, Wire({10}), 1);
    next.Run();
    EXPECT_EQ(next.status(0), kOk);
    EXPECT_EQ(next.end(0), 618);
  }
}

TEST("nothing goes beyond the reserved blocks, though the segment has room") {
  for (const SegmentMode mode : kModes) {
    ScratchDir dir;
    Appender appender;
    SegmentWriterConfig config = Config(dir.At("a"), mode, RecordFormatId::kCrc32c, 100'000);
    config.reserve = 4096;
    const auto writer = Created(config);
    const auto id = appender.writers().Add(writer);
    Turn turn(&appender);
    turn.Add(id, Wire({4096 - 8}), 1);
    turn.Add(id, Wire({1}), 1);
    turn.Run();
    EXPECT_EQ(turn.status(0), kOk);
    EXPECT_EQ(turn.status(1), kNoRoom);
    EXPECT_EQ(writer->Reserve(8192).code, 0);
    Turn next(&appender);
    next.Add(id, Wire({1}), 1);
    next.Run();
    EXPECT_EQ(next.status(0), kOk);
  }
}

TEST("index entries name row, record and position, and none stays of a row that was refused") {
  ScratchDir dir;
  Appender appender;
  SegmentWriterConfig config = Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain, 2000);
  config.index_interval = 300;
  const auto id = appender.writers().Add(Created(config));
  Turn turn(&appender);
  turn.Add(id, Wire({96, 96, 96, 96}), 4);  // 0 … 400: entries at 0 and 300
  turn.Add(id, Wire({96, 1900}), 2);        // no room
  EXPECT_EQ(turn.Run(), 2u);
  EXPECT_EQ(std::vector<std::uint32_t>(turn.index().begin(), turn.index().begin() + 6),
            (std::vector<std::uint32_t>{0, 0, 0, 0, 3, 300}));
  Turn next(&appender);
  next.Add(id, Wire({96, 96, 96}), 3);  // 400 … 700: entry at 600
  EXPECT_EQ(next.Run(), 1u);
  EXPECT_EQ(std::vector<std::uint32_t>(next.index().begin(), next.index().begin() + 3),
            (std::vector<std::uint32_t>{0, 2, 600}));
}

TEST("a full index output leaves entries out and appends all the same") {
  ScratchDir dir;
  Appender appender;
  SegmentWriterConfig config = Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain);
  config.index_interval = 1;
  const auto id = appender.writers().Add(Created(config));
  for (const std::uint32_t room : {0u, 2u}) {
    Turn turn(&appender, room);
    turn.Add(id, Wire({5, 5, 5}), 3);
    EXPECT_EQ(turn.Run(), room);
    EXPECT_EQ(turn.status(0), kOk);
  }
}

TEST(
    "a write that fails takes its whole group along, index entries included, and the writer is broken from "
    "there on") {
  for (const RecordFormatId format : kFormats) {
    ScratchDir dir;
    Appender appender;
    const auto writer = Created(Config(dir.At("a"), SegmentMode::kFileChannel, format));
    const auto other = Created(Config(dir.At("b"), SegmentMode::kFileChannel, format));
    const auto id = appender.writers().Add(writer);
    const auto other_id = appender.writers().Add(other);
    Turn turn(&appender);
    turn.Add(other_id, Wire({10}), 1);
    turn.Add(id, Wire({10}), 1);
    turn.Add(id, Wire({10}), 2);
    turn.Add(id, Wire({20}), 1);
    turn.Add(other_id, Wire({10}), 1);
    turn.Add(id, Wire({30}), 1);
    {
      const Sabotage sabotage(writer->file()->fd(), "/dev/full");
      EXPECT_EQ(turn.Run(), 1u);
    }
    EXPECT_EQ(turn.status(0), kOk);
    EXPECT_EQ(turn.status(4), kOk);
    EXPECT_EQ(turn.status(2), kCorrupt);
    for (const std::size_t row : {1, 3, 5}) {
      EXPECT_EQ(turn.status(row), kIoError);
      EXPECT_EQ(turn.error(row), ENOSPC);
      EXPECT_EQ(turn.end(row), 0);
    }
    Turn later(&appender);
    later.Add(id, Wire({10}), 1);
    later.Run();
    EXPECT_EQ(later.status(0), kIoError);
    EXPECT_EQ(later.error(0), ENOSPC);
    EXPECT_EQ(writer->end(), 0u);
  }
}

TEST("a mistake in the table is found before anything of it is written") {
  ScratchDir dir;
  Appender appender;
  const auto writer = Created(Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain));
  const auto id = appender.writers().Add(writer);
  struct {
    std::uint32_t column;
    std::int32_t value;
    TableFault fault;
  } const mistakes[] = {
      {append_column::kWriter, id + 1, TableFault::kWriter},
      {append_column::kWriter, -1, TableFault::kWriter},
      {append_column::kWriter, INT32_MAX, TableFault::kWriter},
      {append_column::kSource, 1, TableFault::kSource},
      {append_column::kSource, -1, TableFault::kSource},
      {append_column::kOffset, -1, TableFault::kRange},
      {append_column::kOffset, INT32_MAX, TableFault::kRange},
      {append_column::kBytes, -1, TableFault::kRange},
      {append_column::kBytes, 15, TableFault::kRange},
      {append_column::kBytes, INT32_MAX, TableFault::kRange},
  };
  for (const auto& mistake : mistakes) {
    const Memory wire = Wire({10});
    const Source source{wire.data(), wire.size()};
    std::int32_t table[16] = {id, 0, 0, 14, 1, -1, -1, -1, id, 0, 0, 14, 1, -1, -1, -1};
    table[8 + mistake.column] = mistake.value;
    std::uint32_t index[3];
    const AppendResult result = appender.Run({table, 2, &source, 1, index, 1});
    EXPECT_EQ(result.fault, mistake.fault);
    EXPECT_EQ(result.row, 1u);
    EXPECT_EQ(writer->end(), 0u);
  }
}

TEST("a number that was kept too long does not reach the next writer of its slot") {
  ScratchDir dir;
  WriterRegistry writers;
  const auto first = writers.Add(Created(Config(dir.At("a"), SegmentMode::kMapped, RecordFormatId::kPlain)));
  writers.Remove(first);
  writers.Remove(first);
  EXPECT_TRUE(writers.Find(first) == nullptr);
  const auto second = writers.Add(Created(Config(dir.At("b"), SegmentMode::kMapped, RecordFormatId::kPlain)));
  EXPECT_NE(first, second);
  EXPECT_TRUE(writers.Find(first) == nullptr);
  EXPECT_TRUE(writers.Find(second) != nullptr);
  for (int i = 0; i < 2'000'000; i++) {
    const auto id = writers.Add(nullptr);
    EXPECT_GE(id, 0);
    ASSERT_NE(id, first);
    writers.Remove(id);
  }
  EXPECT_TRUE(writers.Find(second) != nullptr);
}

TEST("random turns leave exactly the accepted batches behind") {
  std::mt19937 random = Random();
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 60; round++) {
    const RecordFormatId format = kFormats[below(2)];
    ScratchDir dir;
    Appender appender;
    SegmentWriterConfig config = Config(dir.At("a"), kModes[below(2)], format, 1 << 20);
    config.index_interval = 1 + below(9000);
    const auto writer = Created(config);
    const auto id = appender.writers().Add(writer);
    Memory expected;
    std::uint32_t seed = 0;
    for (std::uint32_t turns = 1 + below(5); turns > 0; turns--) {
      Turn turn(&appender, 2000);
      struct Row {
        std::vector<std::uint32_t> sizes;
        std::uint32_t seed;
        bool sound;
      };
      std::vector<Row> rows;
      for (std::uint32_t count = 1 + below(20); count > 0; count--) {
        std::vector<std::uint32_t> sizes(1 + below(20));
        for (auto& size : sizes) size = 1 + below(below(8) == 0 ? 40'000 : 200);
        Memory wire = Wire(sizes, seed);
        const bool sound = below(5) != 0;
        if (!sound) wire.pop_back();
        turn.Add(id, wire, static_cast<std::int32_t>(sizes.size()));
        rows.push_back({sizes, seed, sound});
        seed += 100;
      }
      turn.Run();
      for (std::size_t row = 0; row < rows.size(); row++) {
        if (!rows[row].sound) EXPECT_EQ(turn.status(row), kCorrupt);
        if (turn.status(row) == kOk) Append(&expected, Stored(format, rows[row].sizes, rows[row].seed));
        EXPECT_EQ(turn.end(row), expected.size());
      }
    }
    EXPECT_EQ(writer->end(), expected.size());
    EXPECT_EQ(writer->Finish(false).code, 0);
    EXPECT_TRUE(ReadWhole(dir.At("a")) == expected);
  }
}

}  // namespace
}  // namespace millrace::test
