// The walk over received records: that it stays inside its bytes whatever they say (each walk has bytes of
// its own size exactly, which the sanitizer watches), and that damage never brings a record that was not
// there.

#include "core/record_walk.h"

#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

constexpr std::uint32_t kMaxPayload = 1 << 30;

struct Walked {
  RecordWalk walk;
  std::vector<std::uint32_t> ranges;
};

Walked Walk(const Memory& stored, RecordFormatId format, std::uint32_t room = 100, std::uint32_t from = 0) {
  const Memory exact(stored);
  std::vector<std::uint32_t> ranges(2 * static_cast<std::size_t>(room));
  const RecordWalk walk = WalkRecords(exact.data(), from, static_cast<std::uint32_t>(exact.size()),
                                      Format(format), kMaxPayload, ranges.data(), room);
  ranges.resize(2 * static_cast<std::size_t>(walk.records));
  return {walk, ranges};
}

TEST("records, cut at every byte") {
  for (const RecordFormatId format : {RecordFormatId::kPlain, RecordFormatId::kCrc32c}) {
    const Memory stored = Stored(format, {1, 30, 7});
    const std::vector<std::uint32_t> whole = Walk(stored, format).ranges;
    EXPECT_EQ(whole.size(), 6u);
    for (std::size_t length = 0; length <= stored.size(); length++) {
      const Walked cut =
          Walk(Memory(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(length)), format);
      const bool at_boundary = length == 0 || length == whole[1] || length == whole[3] || length == whole[5];
      EXPECT_EQ(cut.walk.stop, at_boundary ? WalkStop::kEnd : WalkStop::kCut);
      EXPECT_EQ(cut.walk.position, cut.ranges.empty() ? 0 : cut.ranges.back());
      EXPECT_EQ(std::equal(cut.ranges.begin(), cut.ranges.end(), whole.begin()), true);
    }
  }
}

TEST("no room is no end, unless the bytes end there") {
  const Memory stored = Stored(RecordFormatId::kCrc32c, {5, 6});
  EXPECT_EQ(Walk(stored, RecordFormatId::kCrc32c, 0).walk.stop, WalkStop::kFull);
  const Walked one = Walk(stored, RecordFormatId::kCrc32c, 1);
  EXPECT_EQ(one.walk.stop, WalkStop::kFull);
  EXPECT_EQ(one.walk.position, 13u);
  const Walked two = Walk(stored, RecordFormatId::kCrc32c, 1, one.walk.position);
  EXPECT_EQ(two.walk.stop, WalkStop::kEnd);
  EXPECT_EQ(two.ranges[0], 21u);
}

TEST("random damage is never walked past, and never leads outside") {
  std::mt19937 random = Random();
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 20'000; round++) {
    std::vector<std::uint32_t> sizes(1 + below(6));
    for (auto& size : sizes) size = 1 + below(40);
    Memory stored = Stored(RecordFormatId::kCrc32c, sizes);
    const std::vector<std::uint32_t> whole = Walk(stored, RecordFormatId::kCrc32c).ranges;
    const std::uint32_t at = below(static_cast<std::uint32_t>(stored.size()));
    stored[at] = static_cast<std::uint8_t>(stored[at] ^ (1u << below(8)));
    const Walked damaged = Walk(stored, RecordFormatId::kCrc32c);
    EXPECT_EQ(damaged.walk.stop != WalkStop::kEnd, true);
    EXPECT_EQ(damaged.walk.position <= at, true);
    EXPECT_EQ(std::equal(damaged.ranges.begin(), damaged.ranges.end(), whole.begin()), true);
    (void)Walk(stored, RecordFormatId::kPlain);
  }
}

}  // namespace
}  // namespace millrace::test
