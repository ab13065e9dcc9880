// Both write paths, both formats: what is on the disk after each step, what is cut and what is not, and that
// a writer that broke stays broken.

#include "core/segment_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "core/io.h"
#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

using Writer = std::shared_ptr<SegmentWriter>;

Writer Created(const SegmentWriterConfig& config) {
  SysError error;
  Writer writer = SegmentWriter::Create(config, &error);
  EXPECT_EQ(error.code, 0);
  return writer;
}

Writer Opened(const SegmentWriterConfig& config, std::uint32_t end) {
  SysError error;
  Writer writer = SegmentWriter::Open(config, end, &error);
  EXPECT_EQ(error.code, 0);
  return writer;
}

int Add(SegmentWriter* writer, const std::vector<std::uint32_t>& sizes, std::uint32_t seed = 1) {
  static WriteScratch scratch;
  const Memory wire = Wire(sizes, seed);
  const auto records = static_cast<std::uint32_t>(sizes.size());
  const auto stored = static_cast<std::uint32_t>(writer->format().StoredBytes(wire.size(), records));
  writer->Stage({wire.data(), static_cast<std::uint32_t>(wire.size()), records, stored});
  return writer->Commit(&scratch);
}

template <typename Body>
void OnEveryPath(Body body) {
  for (const SegmentMode mode : kModes) {
    for (const RecordFormatId format : kFormats) {
      ScratchDir dir;
      body(dir, Config(dir.At("a.log"), mode, format), format);
    }
  }
}

bool IsMapped(const SegmentWriterConfig& config) { return config.mode == SegmentMode::kMapped; }

TEST("a file that somebody else has cut is not finished as if it were whole") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    const Writer writer = Created(config);
    EXPECT_EQ(Add(writer.get(), {100, 200, 300}, 1), 0);
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
    EXPECT_EQ(::truncate(config.path.c_str(), 50), 0);
    EXPECT_EQ(writer->Finish(true).code, EIO);
    EXPECT_EQ(ReadWhole(config.path).size(), 50u);
  });
}

TEST("what was appended is what the file holds, and the length is that of the path") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId format) {
    const Writer writer = Created(config);
    EXPECT_EQ(Add(writer.get(), {10, 200, 1}, 1), 0);
    EXPECT_EQ(Add(writer.get(), {5000}, 50), 0);
    Memory expected = Stored(format, {10, 200, 1}, 1);
    Append(&expected, Stored(format, {5000}, 50));
    EXPECT_EQ(writer->end(), expected.size());
    if (IsMapped(config)) expected.resize(config.capacity);
    EXPECT_TRUE(ReadWhole(config.path) == expected);
  });
}

TEST("a finished segment is exactly its records, and reading through its file goes on") {
  for (const bool force : {false, true}) {
    OnEveryPath([force](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId format) {
      const Writer writer = Created(config);
      EXPECT_EQ(Add(writer.get(), {10, 200, 1}), 0);
      EXPECT_EQ(writer->Finish(force).code, 0);
      EXPECT_TRUE(ReadWhole(config.path) == Stored(format, {10, 200, 1}));
      std::uint8_t first[4];
      EXPECT_EQ(ReadAt(writer->file()->fd(), first, 4, 0), 4);
    });
  }
}

TEST("a writer that is only let go of cuts nothing") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId format) {
    Writer writer = Created(config);
    EXPECT_EQ(Add(writer.get(), {10, 200}), 0);
    writer.reset();
    Memory expected = Stored(format, {10, 200});
    if (IsMapped(config)) expected.resize(config.capacity);
    EXPECT_TRUE(ReadWhole(config.path) == expected);
  });
}

TEST("opened again, the log goes on where its records end, and what lay behind is gone for good") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId format) {
    const auto whole = static_cast<std::uint32_t>(Stored(format, {10, 200}).size());
    {
      const Writer writer = Created(config);
      EXPECT_EQ(Add(writer.get(), {10, 200, 3000}), 0);
    }
    const Writer writer = Opened(config, whole);
    EXPECT_EQ(writer->end(), whole);
    EXPECT_EQ(Add(writer.get(), {7}, 99), 0);
    Memory expected = Stored(format, {10, 200});
    Append(&expected, Stored(format, {7}, 99));
    if (IsMapped(config)) expected.resize(config.capacity);
    EXPECT_TRUE(ReadWhole(config.path) == expected);
  });
}

TEST("a segment written on one path goes on on the other") {
  for (const RecordFormatId format : kFormats) {
    for (const SegmentMode first : kModes) {
      ScratchDir dir;
      const SegmentMode second =
          first == SegmentMode::kMapped ? SegmentMode::kFileChannel : SegmentMode::kMapped;
      const Writer before = Created(Config(dir.At("a.log"), first, format));
      EXPECT_EQ(Add(before.get(), {10, 200}), 0);
      EXPECT_EQ(before->Finish(true).code, 0);
      const Writer after = Opened(Config(dir.At("a.log"), second, format), before->end());
      EXPECT_EQ(Add(after.get(), {30}, 9), 0);
      EXPECT_EQ(after->Finish(true).code, 0);
      Memory expected = Stored(format, {10, 200});
      Append(&expected, Stored(format, {30}, 9));
      EXPECT_TRUE(ReadWhole(dir.At("a.log")) == expected);
    }
  }
}

TEST("a file that ends before its records do is not opened") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    WriteWhole(config.path, Memory(100, 1));
    SysError error;
    EXPECT_TRUE(SegmentWriter::Open(config, 101, &error) == nullptr);
    EXPECT_EQ(error.code, EINVAL);
    EXPECT_EQ(SizeOf(config.path), 100);
  });
}

TEST("a file that is there already is not created, nor touched") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    WriteWhole(config.path, Memory(100, 1));
    SysError error;
    EXPECT_TRUE(SegmentWriter::Create(config, &error) == nullptr);
    EXPECT_EQ(error.code, EEXIST);
    EXPECT_EQ(error.path, config.path);
    EXPECT_EQ(SizeOf(config.path), 100);
  });
}

TEST("blocks are reserved as asked, up to the capacity") {
  OnEveryPath([](ScratchDir&, SegmentWriterConfig config, RecordFormatId) {
    config.reserve = 64 * 1024;
    const Writer writer = Created(config);
    EXPECT_EQ(writer->reserved(), 64u * 1024);
    EXPECT_EQ(writer->Reserve(10).code, 0);
    EXPECT_EQ(writer->reserved(), 64u * 1024);
    EXPECT_EQ(writer->Reserve(0xFFFFFFFF).code, 0);
    EXPECT_EQ(writer->reserved(), config.capacity);
    struct stat stat{};
    EXPECT_EQ(fstat(writer->file()->fd(), &stat), 0);
    EXPECT_GE(static_cast<std::uint64_t>(stat.st_blocks) * 512, config.capacity);
    EXPECT_EQ(stat.st_size, IsMapped(config) ? config.capacity : 0);
  });
}

TEST("blocks are reserved filled with zeros, around which what was written stays") {
  OnEveryPath([](ScratchDir&, SegmentWriterConfig config, RecordFormatId format) {
    config.reserve = 5000;
    const Writer writer = Created(config);
    EXPECT_EQ(Add(writer.get(), {4000}), 0);
    EXPECT_EQ(writer->ReserveFilled(10).code, 0);
    EXPECT_EQ(writer->reserved(), 5000u);
    EXPECT_EQ(writer->ReserveFilled(0xFFFFFFFF).code, 0);
    EXPECT_EQ(writer->reserved(), config.capacity);
    Memory expected = Stored(format, {4000});
    if (IsMapped(config)) expected.resize(config.capacity);
    EXPECT_TRUE(ReadWhole(config.path) == expected);
    EXPECT_EQ(Add(writer.get(), {5000}, 7), 0);
    EXPECT_EQ(writer->Finish(true).code, 0);
    expected = Stored(format, {4000});
    Append(&expected, Stored(format, {5000}, 7));
    EXPECT_TRUE(ReadWhole(config.path) == expected);
    EXPECT_EQ(writer->ReserveFilled(config.capacity).code, 0);
    EXPECT_TRUE(ReadWhole(config.path) == expected);
  });
}

#if defined(__linux__)

TEST("filling reads in nothing behind what it fills, also when somebody faulted before") {
  ScratchDir dir;
  constexpr std::uint32_t kCapacity = 64 << 20;
  constexpr std::uint32_t kFilled = 16 << 20;
  SegmentWriterConfig config =
      Config(dir.At("a.log"), SegmentMode::kMapped, RecordFormatId::kPlain, kCapacity);
  config.reserve = 4096;
  const Writer writer = Created(config);
  EXPECT_EQ(Add(writer.get(), {100}), 0);
  EXPECT_EQ(writer->ReserveFilled(kFilled).code, 0);
  void* const file = mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_SHARED, writer->file()->fd(), 0);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there(kCapacity / page);
  EXPECT_EQ(mincore(file, kCapacity, there.data()), 0);
  munmap(file, kCapacity);
  std::size_t filled = 0;
  std::size_t behind = 0;
  for (std::size_t i = 0; i < there.size(); i++) (i < kFilled / page ? filled : behind) += there[i] & 1;
  EXPECT_EQ(filled, kFilled / page);
  EXPECT_EQ(behind, std::size_t{0});
}

#endif

TEST("a creation that is forced later is covered by the first barrier, whatever was written, or by the end") {
  OnEveryPath([](ScratchDir& dir, SegmentWriterConfig config, RecordFormatId) {
    config.force_later = true;
    const std::uint64_t before = BarrierCount();
    const Writer writer = Created(config);
    EXPECT_EQ(BarrierCount(), before);
    EXPECT_EQ(writer->Force(0).code, 0);
    EXPECT_EQ(BarrierCount(), before + 1);
    EXPECT_EQ(writer->Force(0).code, 0);
    EXPECT_EQ(BarrierCount(), before + 1);
    config.path = dir.At("b.log");
    EXPECT_EQ(Created(config)->Finish(true).code, 0);
    EXPECT_EQ(BarrierCount(), before + 2);
  });
}

TEST("a barrier covers what there was, counts once, and is not issued for nothing") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    const Writer writer = Created(config);
    const std::uint64_t created = BarrierCount();
    EXPECT_EQ(writer->Force(0).code, 0);
    EXPECT_EQ(BarrierCount(), created);
    EXPECT_EQ(Add(writer.get(), {100}), 0);
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
    EXPECT_EQ(BarrierCount(), created + 1);
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
    EXPECT_EQ(writer->Force(3).code, 0);
    EXPECT_EQ(BarrierCount(), created + 1);
    EXPECT_EQ(writer->Finish(true).code, 0);
    EXPECT_EQ(BarrierCount(), created + 2);
  });
}

TEST("the first barrier after opening covers the metadata, whatever was written") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    EXPECT_EQ(Created(config)->Finish(true).code, 0);
    const Writer writer = Opened(config, 0);
    const std::uint64_t opened = BarrierCount();
    EXPECT_EQ(writer->Force(0).code, 0);
    EXPECT_EQ(BarrierCount(), opened + 1);
  });
}

TEST("a barrier that fails breaks the writer: it is never issued again and called good") {
  ScratchDir dir;
  const Writer writer = Created(Config(dir.At("a.log"), SegmentMode::kFileChannel, RecordFormatId::kCrc32c));
  EXPECT_EQ(Add(writer.get(), {100}), 0);
  {
    // fdatasync of a character device is not possible.
    const Sabotage sabotage(writer->file()->fd(), "/dev/null");
    EXPECT_EQ(writer->Force(writer->end()).code, EINVAL);
  }
  const std::uint64_t count = BarrierCount();
  EXPECT_EQ(writer->Force(writer->end()).code, EINVAL);
  EXPECT_EQ(writer->Finish(true).code, EINVAL);
  EXPECT_EQ(BarrierCount(), count);
  EXPECT_EQ(writer->broken(), EINVAL);
  EXPECT_EQ(writer->Finish(false).code, 0);
}

TEST("a write that fails breaks the writer, and its end stays where it was") {
  for (const RecordFormatId format : kFormats) {
    ScratchDir dir;
    const Writer writer = Created(Config(dir.At("a.log"), SegmentMode::kFileChannel, format));
    EXPECT_EQ(Add(writer.get(), {100}), 0);
    const std::uint32_t end = writer->end();
    {
      const Sabotage sabotage(writer->file()->fd(), "/dev/full");
      EXPECT_EQ(Add(writer.get(), {100}), ENOSPC);
    }
    EXPECT_EQ(writer->end(), end);
    EXPECT_EQ(writer->staged_end(), end);
    EXPECT_EQ(writer->broken(), ENOSPC);
    EXPECT_EQ(writer->Force(end).code, ENOSPC);
    EXPECT_EQ(writer->Finish(false).code, 0);
    EXPECT_EQ(SizeOf(dir.At("a.log")), end);
  }
}

TEST("messages name the file as it is called now") {
  ScratchDir dir;
  const Writer writer =
      Created(Config(dir.At("next.tmp"), SegmentMode::kFileChannel, RecordFormatId::kPlain));
  EXPECT_EQ(rename(dir.At("next.tmp").c_str(), dir.At("b.log").c_str()), 0);
  writer->NameChanged(dir.At("b.log"));
  EXPECT_EQ(Add(writer.get(), {100}), 0);
  const Sabotage sabotage(writer->file()->fd(), "/dev/null");
  EXPECT_EQ(writer->Force(writer->end()).path, dir.At("b.log"));
}

TEST("groups larger than the buffer, records larger than it, and more parts than one call takes") {
  for (const RecordFormatId format : kFormats) {
    ScratchDir dir;
    const Writer writer = Created(Config(dir.At("a.log"), SegmentMode::kFileChannel, format, 64 << 20));
    Memory expected;
    const auto add = [&](const std::vector<std::uint32_t>& sizes, std::uint32_t seed) {
      EXPECT_EQ(Add(writer.get(), sizes, seed), 0);
      Append(&expected, Stored(format, sizes, seed));
    };
    add({300'000, 1, 700'000, 8192, 8193, 2}, 1);
    add(std::vector<std::uint32_t>(5000, 100), 2);
    add(std::vector<std::uint32_t>(3000, 9000), 3);
    add({8193, 1, 8193, 1, 8192, 260'000, 5}, 4);
    // Many batches in one group.
    WriteScratch scratch;
    std::vector<Memory> wires;
    for (std::uint32_t i = 0; i < 3000; i++) wires.push_back(Wire({1 + i % 50}, i));
    for (const Memory& wire : wires) {
      const auto bytes = static_cast<std::uint32_t>(wire.size());
      writer->Stage(
          {wire.data(), bytes, 1, static_cast<std::uint32_t>(Format(format).StoredBytes(bytes, 1))});
    }
    EXPECT_EQ(writer->Commit(&scratch), 0);
    for (std::uint32_t i = 0; i < 3000; i++) Append(&expected, Stored(format, {1 + i % 50}, i));
    EXPECT_EQ(writer->end(), expected.size());
    EXPECT_TRUE(ReadWhole(dir.At("a.log")) == expected);
  }
}

TEST("sizes that somebody else changes after the check lead nowhere, and break the writer") {
  // Larger than what is left, to where no header fits any more, and less than the region has.
  for (const std::uint32_t changed : {0x7FFFFFFFu, 3u * 9000 + 7, 5u}) {
    ScratchDir dir;
    const Writer writer =
        Created(Config(dir.At("a.log"), SegmentMode::kFileChannel, RecordFormatId::kCrc32c));
    Memory wire = Wire({9000, 9000, 9000});
    const auto bytes = static_cast<std::uint32_t>(wire.size());
    for (int i = 0; i < 4; i++)
      wire[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(changed >> (24 - 8 * i));
    WriteScratch scratch;
    writer->Stage({wire.data(), bytes, 3, bytes + 3 * 4});
    EXPECT_EQ(writer->Commit(&scratch), EINVAL);
    EXPECT_EQ(writer->broken(), EINVAL);
    EXPECT_EQ(writer->end(), 0u);
  }
}

TEST("a mapped segment can be filled to its last byte") {
  for (const RecordFormatId format : kFormats) {
    ScratchDir dir;
    // Not a multiple of the page size: the mapping is longer than the file.
    const Writer writer = Created(Config(dir.At("a.log"), SegmentMode::kMapped, format, 5000));
    EXPECT_EQ(Add(writer.get(), {5000 - Format(format).header_bytes}), 0);
    EXPECT_EQ(writer->end(), 5000u);
    EXPECT_EQ(writer->Force(5000).code, 0);
    EXPECT_EQ(writer->Finish(true).code, 0);
    EXPECT_TRUE(ReadWhole(dir.At("a.log")) == Stored(format, {5000 - Format(format).header_bytes}));
  }
}

TEST("a barrier that comes to its turn only after a close forces all the same") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    const Writer writer = Created(config);
    EXPECT_EQ(Add(writer.get(), {1000}), 0);
    EXPECT_EQ(writer->Finish(/*force=*/false).code, 0);
    const std::uint64_t before = BarrierCount();
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
    EXPECT_EQ(BarrierCount(), before + 1);
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
    EXPECT_EQ(BarrierCount(), before + 1);
  });
}

TEST("a barrier after a seal has nothing left to force") {
  OnEveryPath([](ScratchDir&, const SegmentWriterConfig& config, RecordFormatId) {
    const Writer writer = Created(config);
    EXPECT_EQ(Add(writer.get(), {1000}), 0);
    EXPECT_EQ(writer->Finish(/*force=*/true).code, 0);
    const std::uint64_t before = BarrierCount();
    EXPECT_EQ(writer->Force(writer->end()).code, 0);
    EXPECT_EQ(BarrierCount(), before);
  });
}

}  // namespace
}  // namespace millrace::test
