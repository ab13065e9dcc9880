// The selector over real sockets: slices of files, from the cache and from the disk.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/platform.h"
#include "core/selector.h"
#include "test/harness.h"
#include "test/scratch_file.h"
#include "test/selector_client.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

namespace {

std::string FileBytes(std::size_t position, std::size_t bytes) {
  std::string all(bytes, '\0');
  for (std::size_t i = 0; i < bytes; i++) all[i] = static_cast<char>(PatternAt(position + i));
  return all;
}

}  // namespace

TEST("slices between bytes arrive as they lie in the file, by sendfile and on the heap path alike") {
  const ScratchFile scratch(3 << 20);
  for (const bool zero_copy : {true, false}) {
    SelectorOptions options = SelectorPlay::Defaults();
    options.zero_copy = zero_copy;
    SelectorPlay play(options);
    play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) {
      play.Reply(id, "head", 1, scratch.file(), 1000, 2'000'000);
      play.Reply(id, "", 0, scratch.file(), 7, 100);
      play.Reply(id, "middle", 0);
      play.Reply(id, "tail", 0, scratch.file(), 0, 0);
    };
    const Fd client = play.Connect();
    Write(client, Framed("go"));
    const std::string expected = "head" + FileBytes(1000, 2'000'000) + FileBytes(7, 100) + "middletail";
    std::string got;
    play.TurnUntil([&] {
      got += ReadAll(client);
      return got.size() >= expected.size();
    });
    EXPECT_TRUE(got == expected);
    EXPECT_EQ(play.counter(counter::kSendfileBytes), zero_copy ? 2'000'100 : 0);
    EXPECT_EQ(play.counter(counter::kHeapBytes), zero_copy ? 0 : 2'000'100);
    EXPECT_EQ(play.counter(counter::kSendfileCalls) > 0, zero_copy);
    EXPECT_EQ(play.counter(counter::kBytesOut), expected.size());
  }
}

TEST("many who take slices get alike, and one who takes a few bytes does not wait behind them") {
  const ScratchFile scratch(4 << 20);
  SelectorOptions options = SelectorPlay::Defaults();
  options.turn_bytes_out = 50'000;
  options.send_us = 0;  // the time is over with the first send: nothing but the order decides
  SelectorPlay play(options);
  int turns = 0;
  int few_at = -1;
  std::int32_t few_id = 0;
  play.on_frame = [&](std::int32_t id, const std::uint8_t* frame, std::size_t) {
    if (*frame == 's') {
      play.Reply(id, "head", 1, scratch.file(), 0, 4'000'000);
    } else {
      play.Reply(id, "few", 1);
      few_at = turns;
      few_id = id;
    }
  };
  constexpr std::size_t kReaders = 8;
  std::vector<Fd> readers;
  for (std::size_t i = 0; i < kReaders; i++) readers.push_back(play.Connect());
  const Fd other = play.Connect();
  for (const Fd& reader : readers) Write(reader, Framed("s"));
  std::vector<std::size_t> got(kReaders);
  std::size_t few = 0;
  std::size_t asked = 0;
  int longest = 0;
  while (*std::max_element(got.begin(), got.end()) < 3'000'000) {
    if (few == 3 * asked) {
      Write(other, Framed("f"));
      asked++;
    }
    play.Turn();
    if (few_at >= 0 && play.selector.QueuedBytes(few_id) == 0) {
      longest = std::max(longest, turns - few_at);
      few_at = -1;
    }
    turns++;
    few += ReadAll(other).size();
    for (std::size_t i = 0; i < kReaders; i++) got[i] += ReadAll(readers[i]).size();
  }
  EXPECT_TRUE(*std::min_element(got.begin(), got.end()) + 4 * options.turn_bytes_out >= 3'000'000);
  EXPECT_TRUE(asked > 10);
  EXPECT_TRUE(longest <= 1);
}

TEST("cold slices are read in by a worker, and others are served meanwhile") {
  const ScratchFile scratch(8 << 20);
  SelectorPlay play;
  scratch.DropFromCache();
  play.on_frame = [&](std::int32_t id, const std::uint8_t* bytes, std::size_t) {
    if (*bytes == 'f') {
      play.Reply(id, "head", 1, scratch.file(), 0, 8 << 20);
    } else {
      play.Reply(id, "pong");
    }
  };
  const Fd reader = play.Connect();
  const Fd other = play.Connect();
  Write(reader, Framed("f"));
  std::string got;
  int pongs = 0;
  Write(other, Framed("p"));
  play.TurnUntil([&] {
    got += ReadAll(reader);
    if (!ReadAll(other).empty()) {
      pongs++;
      Write(other, Framed("p"));
    }
    return got.size() >= 4 + (8 << 20);
  });
  EXPECT_TRUE(got == "head" + FileBytes(0, 8 << 20));
  EXPECT_GT(play.counter(counter::kColdReads), 0);
  EXPECT_GT(pongs, 1);
}

TEST("answers behind each other in a file arrive whole when only the first of them are in the cache") {
  constexpr std::size_t kSlice = 65'536;
  for (const bool zero_copy : {true, false}) {
    const ScratchFile scratch(4 * kSlice);
    SelectorOptions options = SelectorPlay::Defaults();
    options.zero_copy = zero_copy;
    SelectorPlay play(options);
    scratch.DropFromCache();
    platform::NoReadAhead(scratch.file()->fd());
    std::string warm(2 * kSlice, '\0');
    EXPECT_EQ(pread(scratch.file()->fd(), warm.data(), warm.size(), 0), warm.size());
    off_t at = 0;
    play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) {
      play.Reply(id, "head", 1, scratch.file(), at, kSlice);
      at += kSlice - 100;  // a reader asks again for the record that was cut off
    };
    const Fd client = play.Connect();
    const std::string frame = Framed("go");
    Write(client, frame + frame + frame);
    std::string expected;
    for (std::size_t i = 0; i < 3; i++) expected += "head" + FileBytes(i * (kSlice - 100), kSlice);
    std::string got;
    play.TurnUntil([&] {
      got += ReadAll(client);
      return got.size() >= expected.size();
    });
    EXPECT_TRUE(got == expected);
    EXPECT_GT(play.counter(counter::kColdReads), 0);
    EXPECT_EQ(play.counter(zero_copy ? counter::kSendfileBytes : counter::kHeapBytes), 3 * kSlice);
  }
}

TEST("tens of thousands of small answers from one file cost about what they cost from two in turns") {
  constexpr int kAnswers = 30'000;
  constexpr std::int32_t kSlice = 16;
  const ScratchFile one(kAnswers * kSlice);
  const ScratchFile two(kAnswers * kSlice);
  SelectorOptions options = SelectorPlay::Defaults();
  options.turn_bytes_out = 512 * 1024;
  const auto microseconds = [&](const std::vector<FilePtr>& files) {
    SelectorPlay play(options, kAnswers);
    std::int32_t id = 0;
    play.on_opened = [&](std::int32_t opened) { id = opened; };
    const Fd client = play.Connect();
    play.TurnUntil([&] { return id != 0; });
    for (int i = 0; i < kAnswers; i++) {
      play.Reply(id, "", 0, files[static_cast<std::size_t>(i) % files.size()], i * kSlice, kSlice);
    }
    const std::int64_t begin = MonotonicUs();
    play.Send();
    return MonotonicUs() - begin;
  };
  std::int64_t in_turns = INT64_MAX;
  std::int64_t behind = INT64_MAX;
  for (int i = 0; i < 3; i++) {
    in_turns = std::min(in_turns, microseconds({one.file(), two.file()}));
    behind = std::min(behind, microseconds({one.file()}));
  }
  EXPECT_GT(4 * in_turns, behind);
}

TEST("a slice of which little is left beyond its share of a turn leaves whole") {
  const ScratchFile scratch(100'000);
  SelectorOptions options = SelectorPlay::Defaults();
  options.turn_bytes_out = 10'000;
  SelectorPlay play(options);
  play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) {
    for (int i = 0; i < 4; i++) play.Reply(id, "head of a slice", i == 0, scratch.file(), 2500 * i, 2500);
    play.Reply(id, "", 0, scratch.file(), 0, 13'000);
  };
  const Fd client = play.Connect();
  Write(client, Framed("go"));
  std::size_t got = 0;
  play.TurnUntil([&] {
    got += ReadAll(client).size();
    return got >= 4 * 2515 + 13'000;
  });
  // The last is too large for that, and leaves in two.
  EXPECT_EQ(play.counter(counter::kSendfileCalls), 6);
}

TEST("a file that was removed is sent to its end, and closed then") {
  FilePtr file;
  std::weak_ptr<File> alive;
  SelectorPlay play;
  {
    const ScratchFile scratch(4 << 20);
    file = scratch.file();
    alive = file;
  }
  play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) {
    play.Reply(id, "", 1, std::move(file), 0, 4 << 20);
  };
  const Fd client = play.Connect();
  Write(client, Framed("go"));
  std::string got;
  play.TurnUntil([&] {
    got += ReadAll(client);
    return got.size() >= 4 << 20;
  });
  EXPECT_TRUE(got == FileBytes(0, 4 << 20));
  EXPECT_TRUE(alive.expired());
}

TEST("a file that is shorter than the slice closes the connection and says so") {
  for (const bool zero_copy : {true, false}) {
    const ScratchFile scratch(1 << 20);
    SelectorOptions options = SelectorPlay::Defaults();
    options.zero_copy = zero_copy;
    SelectorPlay play(options);
    Ends ends(play);
    std::int32_t id = 0;
    play.on_frame = [&](std::int32_t connection, const std::uint8_t*, std::size_t) {
      id = connection;
      play.Reply(connection, "", 1, scratch.file(), 0, 2 << 20);
    };
    const Fd client = play.Connect();
    Write(client, Framed("go"));
    std::string got;
    bool ended = false;
    play.TurnUntil([&] {
      got += ReadAll(client, &ended);
      return ended && ends.reasons.size() == 1;
    });
    EXPECT_TRUE(got == FileBytes(0, got.size()));
    EXPECT_LE(got.size(), 1 << 20);
    EXPECT_TRUE(ends.reasons[id] == CloseReason::kFileShort);
  }
}
