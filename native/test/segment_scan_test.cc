// Where a segment's records end: each way to stop, cut at every byte, across the edges of the window, and the
// walk by length prefixes over the same files.

#include "core/segment_scan.h"

#include <cstring>

#include "core/stored_walk.h"
#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

ScanResult Scan(const std::string& path, RecordFormatId format, std::int64_t from = 0,
                std::int64_t limit = INT32_MAX, std::uint32_t interval = 4096) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ScanResult result;
  EXPECT_EQ(ScanSegment(fd.get(), Format(format), from, limit, interval, &result), 0);
  return result;
}

ScanResult ScanBytes(const ScratchDir& dir, const Memory& bytes, RecordFormatId format) {
  WriteWhole(dir.At("s"), bytes);
  return Scan(dir.At("s"), format);
}

TEST("a whole segment ends at its end") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    const Memory bytes = Stored(format, {10, 1, 300});
    const ScanResult result = ScanBytes(dir, bytes, format);
    EXPECT_EQ(result.stop, ScanStop::kEnd);
    EXPECT_EQ(result.records, 3u);
    EXPECT_EQ(result.end, bytes.size());
    EXPECT_EQ(result.tail_bytes, 0);
  }
}

TEST("an empty file, and a file of zeros") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    EXPECT_EQ(ScanBytes(dir, {}, format).stop, ScanStop::kEnd);
    for (const std::size_t zeros :
         {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{7}, std::size_t{600'000}}) {
      const ScanResult result = ScanBytes(dir, Memory(zeros), format);
      EXPECT_EQ(result.stop, ScanStop::kZeroPrefix);
      EXPECT_EQ(result.records, 0u);
      EXPECT_EQ(result.end, 0);
      EXPECT_EQ(result.tail_bytes, 0);
    }
  }
}

TEST("cut at every byte of the last record it is torn, and the tail is what is left of it") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    const auto before = static_cast<std::int64_t>(Stored(format, {10}).size());
    const Memory whole = Stored(format, {10, 300});
    for (auto bytes = static_cast<std::size_t>(before) + 1; bytes < whole.size(); bytes++) {
      const ScanResult result =
          ScanBytes(dir, Memory(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)), format);
      const std::int64_t left = static_cast<std::int64_t>(bytes) - before;
      // 300 is 00 00 01 2C: cut after two bytes, what is left is no different from zeros that were never
      // written.
      EXPECT_EQ(result.stop, left <= 2 ? ScanStop::kZeroPrefix : ScanStop::kTorn);
      EXPECT_EQ(result.end, before);
      EXPECT_EQ(result.records, 1u);
      EXPECT_EQ(result.tail_bytes, left <= 2 ? 0 : left);
    }
  }
}

TEST("a length that goes beyond the limit is torn, whatever the file has behind it") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    const Memory bytes = Stored(format, {10, 300});
    WriteWhole(dir.At("s"), bytes);
    const ScanResult result = Scan(dir.At("s"), format, 0, static_cast<std::int64_t>(bytes.size()) - 1);
    EXPECT_EQ(result.stop, ScanStop::kTorn);
    EXPECT_EQ(result.records, 1u);
  }
}

TEST("extremes in a length: zero, negative, the largest") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    struct {
      std::uint32_t length;
      ScanStop stop;
    } const cases[] = {{0, ScanStop::kZeroPrefix},         {0x80000000, ScanStop::kBadLength},
                       {0xFFFFFFFF, ScanStop::kBadLength}, {0x7FFFFFFF, ScanStop::kTorn},
                       {0x7FFFFFF7, ScanStop::kTorn},      {301, ScanStop::kTorn}};
    for (const auto& each : cases) {
      Memory bytes = Stored(format, {10});
      const std::size_t end = bytes.size();
      Append(&bytes, Stored(format, {300}));
      Memory length;
      AddInt32(&length, each.length);
      std::copy(length.begin(), length.end(), bytes.begin() + static_cast<std::ptrdiff_t>(end));
      const ScanResult result = ScanBytes(dir, bytes, format);
      EXPECT_EQ(result.stop, each.stop);
      EXPECT_EQ(result.end, end);
      EXPECT_EQ(result.tail_bytes, bytes.size() - end);
    }
  }
}

TEST("one flipped bit, in each byte of a record, is found where there are sums") {
  ScratchDir dir;
  const Memory whole = Stored(RecordFormatId::kCrc32c, {10, 40, 10});
  const std::size_t second = Stored(RecordFormatId::kCrc32c, {10}).size();
  for (std::size_t at = second + 4; at < second + 8 + 40; at++) {
    Memory bytes = whole;
    bytes[at] ^= 0x10;
    const ScanResult result = ScanBytes(dir, bytes, RecordFormatId::kCrc32c);
    EXPECT_EQ(result.stop, ScanStop::kBadSum);
    EXPECT_EQ(result.records, 1u);
    EXPECT_EQ(result.end, second);
    EXPECT_EQ(result.tail_bytes, whole.size() - second);
  }
}

TEST("a body without its length prefix shows as a tail behind the end") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    Memory bytes = Stored(format, {10});
    const std::size_t end = bytes.size();
    Append(&bytes, Stored(format, {1000}));
    std::memset(bytes.data() + end, 0, 4);
    const std::size_t last = bytes.size();
    bytes.resize(3 << 20);
    const ScanResult result = ScanBytes(dir, bytes, format);
    EXPECT_EQ(result.stop, ScanStop::kZeroPrefix);
    EXPECT_EQ(result.end, end);
    EXPECT_EQ(result.tail_bytes, last - end);
  }
}

TEST("a stray byte far behind the end is found, across a hole as well") {
  ScratchDir dir;
  WriteWhole(dir.At("s"), Stored(RecordFormatId::kPlain, {10}));
  const Fd fd(open(dir.At("s").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(ftruncate(fd.get(), 64 << 20), 0);
  EXPECT_EQ(pwrite(fd.get(), "x", 1, 40'000'001), 1);
  const ScanResult result = Scan(dir.At("s"), RecordFormatId::kPlain);
  EXPECT_EQ(result.stop, ScanStop::kZeroPrefix);
  EXPECT_EQ(result.end + result.tail_bytes, 40'000'002);
}

TEST("records across the edges of the window, and longer than it, with an index") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t i = 0; i < 4000; i++) sizes.push_back(1 + i * 37 % 500);
    for (const std::uint32_t size : {262'144u, 700'000u, 1u, 262'136u, 262'137u, 1'000'000u, 5u})
      sizes.push_back(size);
    const Memory bytes = Stored(format, sizes);
    const ScanResult result = ScanBytes(dir, bytes, format);
    EXPECT_EQ(result.stop, ScanStop::kEnd);
    EXPECT_EQ(result.records, sizes.size());
    std::vector<std::uint32_t> expected;
    std::uint32_t at = 0;
    std::uint32_t due = 0;
    for (std::uint32_t i = 0; i < sizes.size(); i++) {
      if (at >= due) {
        expected.insert(expected.end(), {i, at});
        due = at + 4096;
      }
      at += Format(format).header_bytes + sizes[i];
    }
    EXPECT_TRUE(result.index == expected);
  }
}

TEST("a scan that begins in the middle counts from there") {
  ScratchDir dir;
  const Memory bytes = Stored(RecordFormatId::kCrc32c, {10, 20, 30});
  WriteWhole(dir.At("s"), bytes);
  const ScanResult result = Scan(dir.At("s"), RecordFormatId::kCrc32c, 18);
  EXPECT_EQ(result.records, 2u);
  EXPECT_EQ(result.end, bytes.size());
  EXPECT_TRUE((result.index == std::vector<std::uint32_t>{0, 18}));
}

WalkResult Walk(const std::string& path, RecordFormatId format, std::int64_t from, std::uint64_t records,
                std::int64_t limit, bool wait = true, std::int64_t likely = 0) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return WalkStored(fd.get(), Format(format), from, records, limit, wait, likely);
}

TEST("a walk finds the position behind any number of records") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t i = 0; i < 2000; i++) sizes.push_back(1 + i * 37 % 90);
    sizes.insert(sizes.end(), {100'000, 3, 20'000});
    const Memory bytes = Stored(format, sizes);
    WriteWhole(dir.At("s"), bytes);
    const auto limit = static_cast<std::int64_t>(bytes.size());
    for (const bool wait : {true, false}) {
      std::int64_t at = 0;
      for (std::size_t i = 0; i <= sizes.size(); i++) {
        if (i % 97 == 0 || i + 5 > sizes.size()) {
          for (const std::int64_t likely : {std::int64_t{0}, std::int64_t{1}, at, 3 * at}) {
            const WalkResult result = Walk(dir.At("s"), format, 0, i, limit, wait, likely);
            EXPECT_EQ(result.outcome, WalkOutcome::kFound);
            EXPECT_EQ(result.position, at);
          }
        }
        if (i < sizes.size()) at += Format(format).header_bytes + sizes[i];
      }
      EXPECT_EQ(Walk(dir.At("s"), format, 0, sizes.size() + 1, limit, wait).outcome, WalkOutcome::kEnded);
    }
  }
}

TEST("a walk never goes beyond the limit, nor over what is no record") {
  ScratchDir dir;
  for (const RecordFormatId format : kFormats) {
    Memory bytes = Stored(format, {10, 20});
    const auto end = static_cast<std::int64_t>(bytes.size());
    bytes.resize(100'000);
    WriteWhole(dir.At("s"), bytes);
    EXPECT_EQ(Walk(dir.At("s"), format, 0, 2, end - 1).outcome, WalkOutcome::kEnded);
    EXPECT_EQ(Walk(dir.At("s"), format, 0, 2, end).outcome, WalkOutcome::kFound);
    EXPECT_EQ(Walk(dir.At("s"), format, 0, 3, 100'000).outcome, WalkOutcome::kEnded);
    EXPECT_EQ(Walk(dir.At("s"), format, 99'999, 1, 200'000).outcome, WalkOutcome::kEnded);
    EXPECT_EQ(Walk(dir.At("s"), format, 300'000, 1, 400'000).outcome, WalkOutcome::kEnded);
    EXPECT_EQ(Walk(dir.At("s"), format, 300'000, 1, 1000).outcome, WalkOutcome::kEnded);
    Memory negative(5000, 0xFF);
    WriteWhole(dir.At("n"), negative);
    EXPECT_EQ(Walk(dir.At("n"), format, 0, 1, 5000).outcome, WalkOutcome::kEnded);
  }
}

TEST("a walk that may not wait says so when pages are not in the cache, and one that may reads them") {
  ScratchDir dir;
  const Memory bytes = Stored(RecordFormatId::kPlain, std::vector<std::uint32_t>(10'000, 100));
  WriteWhole(dir.At("s"), bytes);
  const Fd fd(open(dir.At("s").c_str(), O_RDWR | O_CLOEXEC));
  const auto limit = static_cast<std::int64_t>(bytes.size());
  EXPECT_EQ(WalkStored(fd.get(), Format(RecordFormatId::kPlain), 0, 9000, limit, false).outcome,
            WalkOutcome::kFound);
  fsync(fd.get());
  if (posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) != 0) return;
  EXPECT_EQ(WalkStored(fd.get(), Format(RecordFormatId::kPlain), 0, 9000, limit, false).outcome,
            WalkOutcome::kNotCached);
  EXPECT_EQ(WalkStored(fd.get(), Format(RecordFormatId::kPlain), 0, 9000, limit, true).outcome,
            WalkOutcome::kFound);
  EXPECT_EQ(WalkStored(fd.get(), Format(RecordFormatId::kPlain), 0, 9000, limit, false).outcome,
            WalkOutcome::kFound);
}

}  // namespace
}  // namespace millrace::test
