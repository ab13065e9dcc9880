// The frame cutter against a plain reference, and the same frames however the stream was split.
//
//   u8 choices | u32 longest frame | u8 rows | stream

#include <string>

#include "core/frame_cutter.h"
#include "core/selector_abi.h"
#include "kit.h"

namespace millrace::fuzz {
namespace {

constexpr std::int32_t kConnection = 7;
constexpr std::uint32_t kManyRows = 4096;
/** A stream that is longer is split here and there only. */
constexpr std::size_t kSplitEverywhere = 80;

struct Frames {
  std::vector<std::string> contents;
  CutStop stop;
  std::size_t bytes;
};

Frames Reference(const Bytes& stream, std::int64_t longest, std::size_t rows) {
  Frames frames{{}, CutStop::kIncomplete, 0};
  for (std::int64_t at = 0;;) {
    frames.bytes = static_cast<std::size_t>(at);
    const std::int64_t left = static_cast<std::int64_t>(stream.size()) - at;
    if (left < 4) return frames;
    const std::int64_t length = SignedAt(stream, at);
    if (length < 1 || length > longest) {
      frames.stop = CutStop::kBadLength;
      return frames;
    }
    if (length > left - 4) return frames;
    if (frames.contents.size() == rows) {
      frames.stop = CutStop::kFull;
      return frames;
    }
    frames.contents.emplace_back(stream.begin() + at + 4, stream.begin() + at + 4 + length);
    at += 4 + length;
  }
}

Frames Cut(const Bytes& stream, std::uint32_t longest, std::uint32_t rows_max, std::size_t base) {
  std::vector<std::int32_t> rows(rows_max * kFrameColumns);
  const CutResult cut =
      CutFrames(stream.data(), stream.size(), longest, kConnection, base, rows.data(), rows_max);
  DEMAND(cut.frames <= rows_max && cut.bytes <= stream.size());
  Frames frames{{}, cut.stop, cut.bytes};
  for (std::uint32_t i = 0; i < cut.frames; i++) {
    const std::int32_t* row = &rows[i * kFrameColumns];
    DEMAND(row[frame_column::kConnection] == kConnection);
    const std::int64_t from = row[frame_column::kOffset] - static_cast<std::int64_t>(base);
    const std::int64_t length = row[frame_column::kLength];
    DEMAND(from >= 4 && length >= 1 && from + length <= static_cast<std::int64_t>(stream.size()));
    frames.contents.emplace_back(stream.begin() + from, stream.begin() + from + length);
  }
  return frames;
}

/** What a receiver gets that is handed the stream in two parts, and keeps what is no whole frame. */
Frames InTwo(const Bytes& stream, std::uint32_t longest, std::size_t split) {
  const auto middle = stream.begin() + static_cast<std::ptrdiff_t>(split);
  const Bytes first(stream.begin(), middle);
  Frames all = Cut(first, longest, kManyRows, 0);
  if (all.stop == CutStop::kBadLength) return all;
  Bytes rest(first.begin() + static_cast<std::ptrdiff_t>(all.bytes), first.end());
  rest.insert(rest.end(), middle, stream.end());
  const Frames second = Cut(rest, longest, kManyRows, 0);
  all.contents.insert(all.contents.end(), second.contents.begin(), second.contents.end());
  return {all.contents, second.stop, all.bytes + second.bytes};
}

bool Same(const Frames& a, const Frames& b) {
  return a.contents == b.contents && a.stop == b.stop && a.bytes == b.bytes;
}

void Run(Input input) {
  const std::uint32_t choices = input.U8();
  const std::uint32_t asked = input.U32();
  // As the setting allows: from a byte to what an int32 holds.
  const std::uint32_t longest = 1 + ((choices & 1) != 0 ? asked % 0x7FFFFFFFu : asked % 300);
  const std::uint32_t rows_max = input.U8();
  const Bytes stream = input.Rest();

  const std::size_t base = (choices & 2) != 0 ? 1'000'000 : 0;
  DEMAND(Same(Cut(stream, longest, rows_max, base), Reference(stream, longest, rows_max)));

  const Frames whole = Reference(stream, longest, kManyRows);
  const std::size_t step = stream.size() <= kSplitEverywhere ? 1 : stream.size() / kSplitEverywhere + 1;
  for (std::size_t split = 0; split <= stream.size(); split += step) {
    DEMAND(Same(InTwo(stream, longest, split), whole));
  }
  if (whole.stop == CutStop::kIncomplete && stream.size() > whole.bytes) {
    const std::size_t total = FrameTotal(stream.data() + whole.bytes, stream.size() - whole.bytes);
    DEMAND(total == 0 || total > stream.size() - whole.bytes);
  }
}

}  // namespace
}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::Run({data, size});
  return 0;
}
