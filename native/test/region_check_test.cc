// The check of a region as it came from the wire: every way in which it can be wrong, extremes in every size,
// and random damage against a walk that is written here once more.

#include "core/region_check.h"

#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

constexpr std::uint32_t kRoom = 1000;

struct Checked {
  AppendStatus status;
  std::vector<std::uint32_t> index;
  std::uint64_t next_index;
};

Checked Check(const Memory& wire, std::int32_t records, std::uint32_t position = 0,
              std::uint64_t next_index = 0, std::uint32_t interval = 4096,
              std::uint32_t max_payload = 1 << 20, std::uint32_t index_room = kRoom,
              RecordFormatId format = RecordFormatId::kCrc32c) {
  std::vector<std::uint32_t> rows(index_room * kIndexOutColumns + 1);
  IndexCursor cursor{rows.data(), 0, index_room};
  const RegionBounds bounds{&Format(format), max_payload, interval};
  Checked checked{};
  checked.next_index = next_index;
  checked.status = CheckRegion(wire.data(), static_cast<std::uint32_t>(wire.size()), records, bounds, 7,
                               position, &checked.next_index, &cursor);
  checked.index.assign(rows.begin(), rows.begin() + cursor.count * kIndexOutColumns);
  return checked;
}

AppendStatus StatusOf(const Memory& wire, std::int32_t records) { return Check(wire, records).status; }

TEST("a region that holds exactly its records") {
  EXPECT_EQ(StatusOf(Wire({1}), 1), AppendStatus::kOk);
  EXPECT_EQ(StatusOf(Wire({1, 2, 300}), 3), AppendStatus::kOk);
}

TEST("counts that do not match, and counts that cannot be") {
  const Memory wire = Wire({5, 5, 5});
  for (const std::int32_t records : {INT32_MIN, -1, 0, 1, 2, 4, 5, 1000, INT32_MAX}) {
    EXPECT_EQ(StatusOf(wire, records), AppendStatus::kCorrupt);
  }
  EXPECT_EQ(StatusOf({}, 0), AppendStatus::kCorrupt);
  EXPECT_EQ(StatusOf({}, 1), AppendStatus::kCorrupt);
}

TEST("extremes in each size of a region of three") {
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{18}}) {
    for (const std::uint32_t size :
         {0u, 4u, 6u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0xFFFFFFFCu, 0xFFFFFFF7u}) {
      Memory wire = Wire({5, 5, 5});
      for (int i = 0; i < 4; i++) wire[at + i] = static_cast<std::uint8_t>(size >> (24 - 8 * i));
      EXPECT_EQ(StatusOf(wire, 3), AppendStatus::kCorrupt);
    }
  }
}

TEST("a region cut at every byte, and one byte too long") {
  const Memory whole = Wire({3, 1, 9});
  for (std::size_t bytes = 0; bytes < whole.size(); bytes++) {
    EXPECT_EQ(StatusOf(Memory(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)), 3),
              AppendStatus::kCorrupt);
  }
  for (const std::uint8_t extra : {0, 1, 255}) {
    Memory longer = whole;
    longer.push_back(extra);
    EXPECT_EQ(StatusOf(longer, 3), AppendStatus::kCorrupt);
    EXPECT_EQ(StatusOf(longer, 4), AppendStatus::kCorrupt);
  }
}

TEST("a record that fits no segment is too large, unless the region is corrupt as well") {
  EXPECT_EQ(Check(Wire({10, 100}), 2, 0, 0, 4096, 100).status, AppendStatus::kOk);
  EXPECT_EQ(Check(Wire({10, 101}), 2, 0, 0, 4096, 100).status, AppendStatus::kTooLarge);
  EXPECT_EQ(Check(Wire({101, 10}), 2, 0, 0, 4096, 100).status, AppendStatus::kTooLarge);
  Memory torn = Wire({101, 10});
  torn.pop_back();
  EXPECT_EQ(Check(torn, 2, 0, 0, 4096, 100).status, AppendStatus::kCorrupt);
}

TEST("an index entry where the interval has passed, by positions as stored") {
  // 8 + 92 bytes each in crc32c.
  const Memory wire = Wire({92, 92, 92, 92, 92, 92});
  const Checked checked = Check(wire, 6, 1000, 1150, 250);
  EXPECT_EQ(checked.index, (std::vector<std::uint32_t>{7, 2, 1200, 7, 5, 1500}));
  EXPECT_EQ(checked.next_index, 1750u);
  EXPECT_EQ(Check(wire, 6, 1000, 5000, 250).index.size(), 0u);
}

TEST("an entry that finds no room is left out, and the next one comes an interval later as ever") {
  const Checked checked = Check(Wire({92, 92, 92, 92}), 4, 0, 0, 100, 1 << 20, 2);
  EXPECT_EQ(checked.index, (std::vector<std::uint32_t>{7, 0, 0, 7, 1, 100}));
  EXPECT_EQ(checked.next_index, 400u);
}

TEST("a region that is refused leaves no entry behind") {
  Memory wire = Wire({92, 92});
  wire.push_back(1);
  const Checked checked = Check(wire, 2, 0, 0, 10);
  EXPECT_EQ(checked.status, AppendStatus::kCorrupt);
  EXPECT_EQ(checked.index.size(), 0u);
  EXPECT_EQ(checked.next_index, 0u);
}

/** The same judgement, with 64 bits everywhere and no hurry. */
AppendStatus Judge(const Memory& wire, std::int64_t records, std::int64_t max_payload) {
  std::int64_t at = 0;
  bool too_large = false;
  if (records <= 0) return AppendStatus::kCorrupt;
  for (std::int64_t i = 0; i < records; i++) {
    if (static_cast<std::int64_t>(wire.size()) - at < 4) return AppendStatus::kCorrupt;
    std::int64_t size = 0;
    for (int k = 0; k < 4; k++) size = size * 256 + wire[static_cast<std::size_t>(at + k)];
    if (size >= 0x80000000) size -= 0x100000000;
    if (size < 1 || size > static_cast<std::int64_t>(wire.size()) - at - 4) return AppendStatus::kCorrupt;
    too_large = too_large || size > max_payload;
    at += 4 + size;
  }
  if (at != static_cast<std::int64_t>(wire.size())) return AppendStatus::kCorrupt;
  return too_large ? AppendStatus::kTooLarge : AppendStatus::kOk;
}

TEST("random damage is judged as by the plain walk, and measured the same") {
  std::mt19937 random = Random();
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 20'000; round++) {
    std::vector<std::uint32_t> sizes(1 + below(6));
    for (auto& size : sizes) size = 1 + below(below(10) == 0 ? 400 : 12);
    Memory wire = Wire(sizes);
    auto records = static_cast<std::int32_t>(sizes.size());
    for (std::uint32_t damage = below(3); damage > 0; damage--) {
      switch (below(4)) {
        case 0:
          wire[below(static_cast<std::uint32_t>(wire.size()))] = static_cast<std::uint8_t>(random());
          break;
        case 1:
          wire.resize(1 + below(static_cast<std::uint32_t>(wire.size())));
          break;
        case 2:
          records += static_cast<std::int32_t>(below(3)) - 1;
          break;
        default:
          wire.push_back(static_cast<std::uint8_t>(below(3)));
      }
    }
    const std::uint32_t max_payload = below(2) == 0 ? 300 : 1 << 20;
    const AppendStatus expected = Judge(wire, records, max_payload);
    EXPECT_EQ(Check(wire, records, 0, 0, 4096, max_payload).status, expected);
    const RegionMeasure measure = MeasureRegion(wire.data(), static_cast<std::uint32_t>(wire.size()), records,
                                                Format(RecordFormatId::kPlain), 1 << 20, max_payload);
    EXPECT_EQ(measure.status, expected);
    if (expected == AppendStatus::kOk) {
      EXPECT_EQ(measure.records, records);
      EXPECT_EQ(measure.stored_bytes, wire.size());
    }
  }
}

TEST("how many leading records fit the room") {
  const Memory wire = Wire({10, 20, 30});  // stored: 18, 28, 38 in crc32c
  const auto measure = [&](std::uint32_t room) {
    return MeasureRegion(wire.data(), static_cast<std::uint32_t>(wire.size()), 3,
                         Format(RecordFormatId::kCrc32c), room, 1 << 20);
  };
  struct {
    std::uint32_t room, records, wire_bytes, stored;
  } const cases[] = {{0, 0, 0, 0},    {17, 0, 0, 0},   {18, 1, 14, 18}, {45, 1, 14, 18},
                     {46, 2, 38, 46}, {83, 2, 38, 46}, {84, 3, 72, 84}, {5000, 3, 72, 84}};
  for (const auto& expected : cases) {
    const RegionMeasure measured = measure(expected.room);
    EXPECT_EQ(measured.status, AppendStatus::kOk);
    EXPECT_EQ(measured.records, expected.records);
    EXPECT_EQ(measured.wire_bytes, expected.wire_bytes);
    EXPECT_EQ(measured.stored_bytes, expected.stored);
  }
}

}  // namespace
}  // namespace millrace::test
