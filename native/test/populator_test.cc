// Pages made ready ahead while a writer appends and barriers run: nothing of it may change a byte, touch a
// page beyond the reserved blocks, or go on when the mapping is gone. Also the test for ThreadSanitizer of
// writer, barrier and populator.

#include "core/populator.h"

#if defined(__linux__)
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "core/thread.h"
#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

constexpr std::uint32_t kCapacity = 8 << 20;

std::shared_ptr<SegmentWriter> Created(const std::string& path, const std::shared_ptr<Populator>& populator,
                                       std::uint32_t reserve = kCapacity,
                                       std::uint32_t capacity = kCapacity) {
  SegmentWriterConfig config = Config(path, SegmentMode::kMapped, RecordFormatId::kCrc32c, capacity);
  config.populator = populator;
  config.reserve = reserve;
  SysError error;
  auto writer = SegmentWriter::Create(config, &error);
  EXPECT_EQ(error.code, 0);
  return writer;
}

void AppendRecord(SegmentWriter* writer, std::uint32_t bytes, Memory* expected) {
  WriteScratch scratch;
  const Memory wire = Wire({bytes}, 3);
  writer->Stage({wire.data(), static_cast<std::uint32_t>(wire.size()), 1, bytes + 8});
  EXPECT_EQ(writer->Commit(&scratch), 0);
  Append(expected, Stored(RecordFormatId::kCrc32c, {bytes}, 3));
}

std::uint64_t AllocatedBytes(const std::string& path) {
  struct stat stat{};
  return ::stat(path.c_str(), &stat) == 0 ? static_cast<std::uint64_t>(stat.st_blocks) * 512 : 0;
}

/** Waits for at most two seconds. */
template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000; i++) {
    if (condition()) return true;
    usleep(1000);
  }
  return false;
}

TEST("populating takes no blocks beyond those that were reserved") {
  ScratchDir dir;
  auto populator = std::make_shared<Populator>();
  const auto writer = Created(dir.At("a"), populator, 1 << 20);
  const std::uint64_t before = AllocatedBytes(dir.At("a"));
  writer->Populate(kCapacity);
  usleep(50'000);
  populator->Stop();
  EXPECT_EQ(AllocatedBytes(dir.At("a")), before);
}

TEST("a writer whose mapping goes while pages are asked for") {
  for (int round = 0; round < 20; round++) {
    ScratchDir dir;
    auto populator = std::make_shared<Populator>();
    auto writer = Created(dir.At("a"), populator);
    Memory expected;
    AppendRecord(writer.get(), 1000, &expected);
    writer->Populate(kCapacity);
    usleep(static_cast<useconds_t>(round * 50));
    if (round % 2 == 0) {
      EXPECT_EQ(writer->Finish(true).code, 0);
      EXPECT_TRUE(ReadWhole(dir.At("a")) == expected);
      writer->Populate(kCapacity);
    }
    writer.reset();
    populator->Stop();
  }
}

TEST("a populator that has stopped takes no more wishes") {
  ScratchDir dir;
  auto populator = std::make_shared<Populator>();
  const auto writer = Created(dir.At("a"), populator);
  populator->Stop();
  writer->Populate(kCapacity);
  populator->Stop();
}

TEST("appends, barriers, populating and preparing at once leave exactly the records") {
  ScratchDir dir;
  auto populator = std::make_shared<Populator>();
  const auto writer = Created(dir.At("a"), populator, 1 << 20);
  std::atomic<bool> done{false};
  Thread barriers;
  EXPECT_TRUE(barriers.Start([&] {
    while (!done.load()) EXPECT_EQ(writer->Force(writer->end()).code, 0);
  }));
  Memory expected;
  for (std::uint32_t i = 0; expected.size() + 20'000 < kCapacity / 2; i++) {
    const std::uint32_t bytes = 1 + i * 131 % 9000;
    if (writer->staged_end() + bytes + 8 > writer->reserved()) {
      EXPECT_EQ(writer->Reserve(writer->reserved() + (1 << 20)).code, 0);
      if (i % 3 == 0) writer->Populate(writer->reserved());
    }
    AppendRecord(writer.get(), bytes, &expected);
    if (i % 64 == 0) usleep(500);
  }
  done = true;
  barriers.Join();
  EXPECT_EQ(writer->Finish(true).code, 0);
  EXPECT_TRUE(ReadWhole(dir.At("a")) == expected);
}

TEST("appends behind which blocks are filled, and reservations in between, leave exactly the records") {
  constexpr std::uint32_t kBytes = 64 << 20;
  ScratchDir dir;
  const auto writer = Created(dir.At("a"), std::make_shared<Populator>(), 1 << 20, kBytes);
  std::atomic<bool> done{false};
  Thread filling;
  EXPECT_TRUE(filling.Start([&] {
    while (!done.load()) EXPECT_EQ(writer->ReserveFilled(writer->end() + 200'000).code, 0);
  }));
  Memory expected;
  for (std::uint32_t i = 0; expected.size() + 20'000 < kBytes; i++) {
    const std::uint32_t bytes = 1 + i * 131 % 9000;
    // It catches up with what was filled now and then, and goes on without.
    if (writer->staged_end() + bytes + 8 > writer->reserved())
      EXPECT_EQ(writer->Reserve(writer->staged_end() + 100'001).code, 0);
    AppendRecord(writer.get(), bytes, &expected);
    if (i % 2048 == 0) EXPECT_EQ(writer->Force(writer->end()).code, 0);
  }
  EXPECT_EQ(writer->Finish(true).code, 0);
  done = true;
  filling.Join();
  EXPECT_TRUE(ReadWhole(dir.At("a")) == expected);
}

#if defined(__linux__)
/** Whether the blocks under [from, to) are written ones; −1 where the file system does not say. */
int BlocksAreWritten(const std::string& path, std::uint64_t from, std::uint64_t to) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  alignas(fiemap) std::uint8_t memory[sizeof(fiemap) + 64 * sizeof(fiemap_extent)] = {};
  auto* const map = reinterpret_cast<fiemap*>(memory);
  map->fm_start = from;
  map->fm_length = to - from;
  map->fm_extent_count = 64;
  if (ioctl(fd.get(), FS_IOC_FIEMAP, map) != 0) return -1;
  for (std::uint32_t i = 0; i < map->fm_mapped_extents; i++) {
    if ((map->fm_extents[i].fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0) return 0;
  }
  return map->fm_mapped_extents > 0 ? 1 : 0;
}

TEST("after a few small barriers the blocks ahead of the end are written ones") {
  ScratchDir dir;
  auto populator = std::make_shared<Populator>();
  const auto writer = Created(dir.At("a"), populator);
  if (BlocksAreWritten(dir.At("a"), 0, kCapacity) < 0) return;
  void* const probe = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer->file()->fd(), 0);
  const bool can = madvise(probe, 4096, 23 /* MADV_POPULATE_WRITE */) == 0;
  munmap(probe, 4096);
  if (!can) return;
  EXPECT_EQ(BlocksAreWritten(dir.At("a"), 64 * 1024, 256 * 1024), 0);
  Memory expected;
  for (int i = 0; i < 8; i++) {
    AppendRecord(writer.get(), 100, &expected);
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
  }
  EXPECT_TRUE(Eventually([&] { return BlocksAreWritten(dir.At("a"), 64 * 1024, 256 * 1024) == 1; }));
  // And not the whole segment: writing each block twice is for the next ones only.
  EXPECT_EQ(BlocksAreWritten(dir.At("a"), 4 << 20, kCapacity), 0);
}

/** How many pages of [from, to) are in the cache. */
std::size_t PagesInCache(const SegmentWriter& writer, std::uint32_t from, std::uint32_t to) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const file = mmap(nullptr, writer.capacity(), PROT_READ, MAP_SHARED, writer.file()->fd(), 0);
  std::vector<unsigned char> there(writer.capacity() / page);
  EXPECT_EQ(mincore(file, writer.capacity(), there.data()), 0);
  munmap(file, writer.capacity());
  std::size_t count = 0;
  for (std::size_t i = from / page; i < to / page; i++) count += there[i] & 1;
  return count;
}

TEST("a store into a fresh page reads in nothing around it, however far the disk reads ahead") {
  ScratchDir dir;
  auto populator = std::make_shared<Populator>();
  const auto writer = Created(dir.At("a"), populator);
  populator->Stop();
  Memory expected;
  AppendRecord(writer.get(), 100, &expected);
  EXPECT_EQ(PagesInCache(*writer, 0, kCapacity / 2), std::size_t{1});
}

TEST("pages ahead of a writer are brought into the cache, some at first and a mebibyte later") {
  ScratchDir dir;
  const auto page = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  const auto writer = Created(dir.At("a"), std::make_shared<Populator>());
  Memory expected;
  AppendRecord(writer.get(), 100, &expected);
  EXPECT_TRUE(Eventually([&] { return PagesInCache(*writer, 0, 64 << 10) == (64 << 10) / page; }));
  usleep(5'000);
  EXPECT_EQ(PagesInCache(*writer, 256 << 10, kCapacity / 2), std::size_t{0});
  while (expected.size() < 2 << 20) AppendRecord(writer.get(), 8'000, &expected);
  EXPECT_TRUE(Eventually(
      [&] { return PagesInCache(*writer, 2 << 20, (2 << 20) + (512 << 10)) == (512 << 10) / page; }));
  usleep(5'000);
  EXPECT_EQ(PagesInCache(*writer, (3 << 20) + (128 << 10), 6 << 20), std::size_t{0});
}

TEST("no page is brought in where there are no blocks") {
  ScratchDir dir;
  const auto page = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  const auto writer = Created(dir.At("a"), std::make_shared<Populator>(), 16 * page);
  Memory expected;
  for (int i = 0; i < 8; i++) AppendRecord(writer.get(), page, &expected);
  EXPECT_TRUE(Eventually([&] { return PagesInCache(*writer, 0, 16 * page) == 16; }));
  usleep(5'000);
  EXPECT_EQ(PagesInCache(*writer, 16 * page, kCapacity), std::size_t{0});
  EXPECT_EQ(writer->Reserve(64 * page).code, 0);
  AppendRecord(writer.get(), page, &expected);
  EXPECT_TRUE(Eventually([&] { return PagesInCache(*writer, 0, 18 * page) == 18; }));
}

TEST("large groups are not prepared for") {
  ScratchDir dir;
  auto populator = std::make_shared<Populator>();
  const auto writer = Created(dir.At("a"), populator);
  if (BlocksAreWritten(dir.At("a"), 0, kCapacity) < 0) return;
  Memory expected;
  for (int i = 0; i < 8; i++) {
    AppendRecord(writer.get(), 100'000, &expected);
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
  }
  usleep(20'000);
  EXPECT_EQ(BlocksAreWritten(dir.At("a"), 2 << 20, 4 << 20), 0);
}
#endif

}  // namespace
}  // namespace millrace::test
