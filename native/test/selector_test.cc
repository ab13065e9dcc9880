// The selector over real sockets: one thing at a time. selector_storm_test.cc has everything at once.

#include "core/selector.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/platform.h"
#include "test/harness.h"
#include "test/scratch_file.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

namespace {

std::string Framed(const std::string& contents) {
  std::uint8_t prefix[4];
  StoreBigEndian32(prefix, static_cast<std::uint32_t>(contents.size()));
  return std::string(reinterpret_cast<char*>(prefix), 4) + contents;
}

void Write(const Fd& fd, const std::string& bytes) {
  EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
}

/** What has arrived; `*ended` says whether the stream ended. */
std::string ReadAll(const Fd& fd, bool* ended = nullptr) {
  std::string all;
  char buffer[65536];
  for (;;) {
    const ssize_t got = recv(fd.get(), buffer, sizeof buffer, 0);
    if (got <= 0) {
      if (ended != nullptr) *ended = got == 0 || errno != EAGAIN;
      return all;
    }
    all.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string FileBytes(std::size_t position, std::size_t bytes) {
  std::string all(bytes, '\0');
  for (std::size_t i = 0; i < bytes; i++) all[i] = static_cast<char>(PatternAt(position + i));
  return all;
}

struct Ends {
  explicit Ends(SelectorPlay& play) {
    play.on_closed = [this](std::int32_t id, CloseReason reason) { reasons[id] = reason; };
  }
  std::map<std::int32_t, CloseReason> reasons;
};

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

TEST("an id of an earlier owner of the slot reaches nobody") {
  SelectorPlay play;
  Ends ends(play);
  std::vector<std::int32_t> ids;
  play.on_opened = [&](std::int32_t id) { ids.push_back(id); };
  for (int i = 0; i < 5000; i++) {
    const Fd client = play.Connect();
    play.TurnUntil([&] { return ids.size() == static_cast<std::size_t>(i) + 1; });
    ASSERT_GT(ids.back(), 0);
    if (i == 0) continue;
    ASSERT_NE(ids[ids.size() - 2], ids.back());
    play.Reply(ids[ids.size() - 2], "late");
    play.Send();
    play.selector.Close(ids[ids.size() - 2], true);
    bool ended = false;
    ASSERT_EQ(ReadAll(client, &ended), "");
    ASSERT_FALSE(ended);
  }
  // Slots are dense, and all generations of one slot come before the first comes again.
  std::map<std::int32_t, int> uses;
  for (const std::int32_t id : ids) {
    uses[id]++;
    EXPECT_LT(id & 0xfffff, 4);
  }
  for (const auto& [id, count] : uses) EXPECT_LE(count, 3);
}

TEST("the end of a peer's input is told once, when requests of it are open, and keeps its id in use") {
  SelectorPlay play;
  Ends ends(play);
  std::vector<std::int32_t> asked;
  play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) { asked.push_back(id); };
  const Fd waiting = play.Connect();
  const Fd nonsense = play.Connect();
  Fd silent = play.Connect();
  Write(waiting, Framed("a"));
  play.TurnUntil([&] { return asked.size() == 1; });
  Write(nonsense, Framed("b") + std::string(4, '\xff'));
  play.TurnUntil([&] { return asked.size() == 2; });
  play.TurnUntil([&] { return play.input_ended.size() == 1; });
  EXPECT_EQ(play.input_ended[0], asked[1]);
  shutdown(waiting.get(), SHUT_WR);
  silent.Reset();
  play.TurnUntil([&] { return play.input_ended.size() == 2 && ends.reasons.size() == 1; });
  EXPECT_EQ(play.input_ended[1], asked[0]);

  // Nobody gets their slots meanwhile, and both get their answers.
  const Fd other = play.Connect();
  for (int i = 0; i < 5; i++) play.Turn(1);
  for (const std::int32_t id : asked) play.Reply(id, "answer");
  play.Send();
  play.TurnUntil([&] { return ends.reasons.size() == 3 || (shutdown(nonsense.get(), SHUT_WR), false); });
  EXPECT_TRUE(ends.reasons[asked[0]] == CloseReason::kPeer);
  EXPECT_TRUE(ends.reasons[asked[1]] == CloseReason::kBadFrameLength);
  EXPECT_EQ(ReadAll(waiting), "answer");
  EXPECT_EQ(ReadAll(nonsense), "answer");
  EXPECT_EQ(play.input_ended.size(), 2);
}

TEST("replies to a connection of the same turn that was closed are dropped, and its files let go") {
  const ScratchFile scratch(1 << 20);
  SelectorPlay play;
  int frames = 0;
  play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) {
    frames++;
    play.selector.Close(id, true);
    play.Reply(id, "late", 1, scratch.file(), 0, 1000);
  };
  const Fd client = play.Connect();
  Write(client, Framed("a"));
  play.TurnUntil([&] { return frames == 1; });
  bool ended = false;
  play.TurnUntil([&] {
    EXPECT_EQ(ReadAll(client, &ended), "");
    return ended;
  });
  EXPECT_EQ(scratch.file().use_count(), 1);
}

TEST("a turn that has nothing to do is not asked for again") {
  SelectorOptions options = SelectorPlay::Defaults();
  options.requests_max = 2;
  options.connections_max = 2;
  options.connection_queued_bytes_max = 1000;
  SelectorPlay play(options);
  std::vector<std::int32_t> ids;
  play.on_opened = [&](std::int32_t id) { ids.push_back(id); };
  const Fd full = play.Connect();     // at the bound of open requests
  const Fd unread = play.Connect();   // owed more than it reads
  const Fd refused = play.Connect();  // beyond connections_max
  play.TurnUntil([&] { return ids.size() == 2; });
  for (int i = 0; i < 5; i++) Write(full, Framed("x"));
  play.Reply(ids[1], std::string(1 << 20, 'y'));
  play.Send();
  for (int i = 0; i < 16; i++) {
    play.Reply(ids[1], std::string(1 << 20, 'y'));
    play.Send();
  }
  Write(unread, Framed("z"));
  for (int i = 0; i < 20; i++) play.Turn(1);
  ASSERT_GT(play.selector.QueuedBytes(ids[1]), 1000);
  EXPECT_EQ(play.counter(counter::kListenerPauses), 1);

  pollfd ready{play.selector.fd(), POLLIN, 0};
  EXPECT_FALSE(play.selector.NeedsTurn());
  EXPECT_EQ(poll(&ready, 1, 50), 0);

  // Half of a connection's end is no reason to spin either.
  shutdown(full.get(), SHUT_WR);
  shutdown(unread.get(), SHUT_WR);
  for (int i = 0; i < 5; i++) play.Turn(1);
  EXPECT_FALSE(play.selector.NeedsTurn());
  EXPECT_EQ(poll(&ready, 1, 50), 0);
}

TEST("out of descriptors the listener waits until one is free") {
  SelectorPlay play;
  int opened = 0;
  play.on_opened = [&](std::int32_t) { opened++; };
  std::vector<Fd> clients;
  for (int i = 0; i < 3; i++) clients.push_back(play.Connect());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  // No descriptor is free: the next one would be above the limit.
  const rlim_t next = static_cast<rlim_t>(Fd(dup(0)).get());
  const rlimit none{next, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  for (int i = 0; i < 5; i++) play.Turn(1);
  EXPECT_EQ(opened, 0);
  EXPECT_EQ(play.counter(counter::kListenerPauses), 1);
  pollfd ready{play.selector.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 20), 0);
  setrlimit(RLIMIT_NOFILE, &before);
  play.selector.Sweep();
  play.TurnUntil([&] { return opened == 3; });
}

TEST("time limits close those who outstay them, and nobody else") {
  SelectorOptions options = SelectorPlay::Defaults();
  // Far longer than all that happens before they are looked at takes, also under a sanitizer.
  options.frame_timeout_ms = 2000;
  options.write_stall_ms = 2000;
  options.idle_ms = 4000;
  SelectorPlay play(options);
  Ends ends(play);
  std::vector<std::int32_t> ids;
  play.on_opened = [&](std::int32_t id) { ids.push_back(id); };
  const Fd half = play.Connect();
  play.TurnUntil([&] { return ids.size() == 1; });
  const Fd waiting = play.Connect();
  play.TurnUntil([&] { return ids.size() == 2; });
  const Fd stalled = play.Connect();
  play.TurnUntil([&] { return ids.size() == 3; });
  const Fd idle = play.Connect();
  play.TurnUntil([&] { return ids.size() == 4; });
  for (int i = 0; i < 16; i++) {
    play.Reply(ids[2], std::string(1 << 20, 'y'));
    play.Send();
  }
  Write(half, Framed("abc").substr(0, 5));
  Write(waiting, Framed("parked"));  // an open request: never idle
  const auto pass = [&](int ms) {
    for (const std::int64_t until = MonotonicUs() + ms * 1000; MonotonicUs() < until;) play.Turn(5);
    play.selector.Sweep();
    play.Turn(0);
  };
  pass(50);
  EXPECT_EQ(ends.reasons.size(), 0);
  pass(2050);
  EXPECT_EQ(ends.reasons.size(), 2);
  EXPECT_TRUE(ends.reasons[ids[0]] == CloseReason::kFrameTimeout);
  EXPECT_TRUE(ends.reasons[ids[2]] == CloseReason::kWriteStall);
  pass(2000);
  EXPECT_EQ(ends.reasons.size(), 3);
  EXPECT_TRUE(ends.reasons[ids[3]] == CloseReason::kIdle);
  EXPECT_EQ(play.selector.connections(), 1);
}

TEST("at the bound on all queued bytes the oldest gatherer goes on, and the others when there is room") {
  SelectorOptions options = SelectorPlay::Defaults();
  options.max_frame_bytes = 300'000;
  options.queued_bytes_max = 400'000;
  SelectorPlay play(options);
  std::vector<std::int32_t> done;
  play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t length) {
    EXPECT_EQ(length, 250'000);
    done.push_back(id);
    play.Reply(id, "ok");
  };
  std::vector<std::int32_t> ids;
  play.on_opened = [&](std::int32_t id) { ids.push_back(id); };
  const std::string frame = Framed(std::string(250'000, 'q'));
  std::vector<Fd> clients;
  std::vector<std::size_t> sent(4, 0);
  for (std::size_t i = 0; i < 4; i++) {
    clients.push_back(play.Connect());
    play.TurnUntil([&] { return ids.size() == i + 1; });
    // Each sends most of its frame: together far beyond the bound.
    while (sent[i] < 200'000) {
      const ssize_t put = send(clients[i].get(), frame.data() + sent[i], 200'000 - sent[i], MSG_NOSIGNAL);
      if (put > 0) sent[i] += static_cast<std::size_t>(put);
      play.Turn(1);
      if (put <= 0 && play.counter(counter::kPauses) > 0) break;
    }
  }
  for (int i = 0; i < 5; i++) play.Turn(1);
  EXPECT_EQ(play.counter(counter::kPauses), 1);
  EXPECT_LE(play.counter(counter::kGatheredBytes), 400'000 + 64 * 1024);
  pollfd ready{play.selector.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 20), 0);

  for (std::size_t i = 4; i-- > 0;) {
    for (int tries = 0; tries < 1000 && sent[i] < frame.size(); tries++) {
      const ssize_t put =
          send(clients[i].get(), frame.data() + sent[i], frame.size() - sent[i], MSG_NOSIGNAL);
      if (put > 0) sent[i] += static_cast<std::size_t>(put);
      play.Turn(1);
    }
  }
  play.TurnUntil([&] { return done.size() == 4; });
  EXPECT_EQ(done[0], ids[0]);
  EXPECT_EQ(play.counter(counter::kGatheredBytes), 0);
  EXPECT_EQ(play.counter(counter::kOutputBytes), 0);
}

TEST("a frame that waits for its connection's own answers is neither the one that goes on nor late") {
  SelectorOptions options = SelectorPlay::Defaults();
  options.requests_max = 2;
  options.frame_timeout_ms = 300;
  SelectorPlay play(options);
  Ends ends(play);
  std::vector<std::int32_t> ids;
  std::size_t frames = 0;
  play.on_opened = [&](std::int32_t id) { ids.push_back(id); };
  play.on_frame = [&](std::int32_t, const std::uint8_t*, std::size_t) { frames++; };
  const Fd client = play.Connect();
  play.TurnUntil([&] { return ids.size() == 1; });
  const std::string frame = Framed("request");
  Write(client, frame + frame + frame.substr(0, 6));
  play.TurnUntil([&] { return frames == 2; });
  play.counters[counter::kExternalQueuedBytes] = options.queued_bytes_max;
  const Fd other = play.Connect();
  play.TurnUntil([&] { return ids.size() == 2; });
  Write(client, frame.substr(6));
  const std::uint64_t before = play.turns;
  for (const std::int64_t until = MonotonicUs() + 400'000; MonotonicUs() < until;) play.Turn(20);
  EXPECT_LE(play.turns, before + 40);
  // Its answers come, and with them the whole time for the frame.
  play.counters[counter::kExternalQueuedBytes] = 0;
  play.Reply(ids[0], "ab", 2);
  play.Send();
  play.selector.Sweep();
  EXPECT_EQ(ends.reasons.size(), 0);
  for (int i = 0; i < 100 && frames < 3; i++) play.Turn();
  EXPECT_EQ(frames, 3);
}

TEST("bytes held by the caller pause connections as well, and their going resumes them") {
  SelectorOptions options = SelectorPlay::Defaults();
  options.queued_bytes_max = 1000;
  SelectorPlay play(options);
  int frames = 0;
  play.on_frame = [&](std::int32_t id, const std::uint8_t*, std::size_t) {
    frames++;
    play.Reply(id, "ok");
  };
  const Fd client = play.Connect();
  Write(client, Framed("a"));
  play.TurnUntil([&] { return frames == 1; });
  play.counters[counter::kExternalQueuedBytes] = 1000;
  play.Send();
  Write(client, Framed("b"));
  for (int i = 0; i < 10; i++) play.Turn(1);
  EXPECT_EQ(frames, 1);
  play.counters[counter::kExternalQueuedBytes] = 751;
  play.Send();
  for (int i = 0; i < 5; i++) play.Turn(1);
  EXPECT_EQ(frames, 1);
  play.counters[counter::kExternalQueuedBytes] = 749;
  play.Send();
  play.TurnUntil([&] { return frames == 2; });
  EXPECT_EQ(play.counter(counter::kPauses), 1);
}

TEST("finishing sends what is queued, then drops what still comes, then closes") {
  SelectorPlay play;
  std::vector<std::int32_t> ids;
  play.on_opened = [&](std::int32_t id) { ids.push_back(id); };
  const Fd client = play.Connect();
  const Fd quiet = play.Connect();
  play.TurnUntil([&] { return ids.size() == 2; });
  const std::string large(900'000, 'z');
  for (int i = 0; i < 8; i++) {
    play.Reply(ids[0], large);
    play.Send();
  }
  play.selector.Finish(500);
  EXPECT_FALSE(play.selector.listening());
  std::string got;
  bool ended = false;
  play.TurnUntil([&] {
    send(client.get(), "more", 4,
         MSG_NOSIGNAL);  // unread, this would become a reset that destroys the answers
    got += ReadAll(client, &ended);
    return ended;
  });
  EXPECT_EQ(got.size(), 8 * large.size());
  shutdown(client.get(), SHUT_WR);
  EXPECT_FALSE(play.selector.finished());
  for (const std::int64_t until = MonotonicUs() + 5'000'000;
       !play.selector.finished() && MonotonicUs() < until;) {
    play.Turn(5);
    play.selector.Sweep();
  }
  EXPECT_TRUE(play.selector.finished());
  EXPECT_EQ(play.counter(counter::kConnections), 0);
}

TEST("a flush table is checked before anything of it is sent") {
  SelectorPlay play;
  const auto bad = [&](std::uint32_t column, std::int32_t value) {
    for (int row = 0; row < 2; row++) {
      const std::int32_t sound[] = {1, 0, 4, 1, 0, 0, 10};
      std::copy(std::begin(sound), std::end(sound),
                &play.flushes[static_cast<std::size_t>(row) * kFlushColumns]);
    }
    play.flushes[kFlushColumns + column] = value;
    return play.selector.CheckFlush(2, 1) == 1;
  };
  EXPECT_TRUE(bad(flush_column::kOffset, -1));
  EXPECT_TRUE(bad(flush_column::kOffset, (1 << 20) - 3));
  EXPECT_TRUE(bad(flush_column::kOffset, INT32_MAX));
  EXPECT_TRUE(bad(flush_column::kLength, -1));
  EXPECT_TRUE(bad(flush_column::kLength, INT32_MAX));
  EXPECT_TRUE(bad(flush_column::kCompleted, -1));
  EXPECT_TRUE(bad(flush_column::kFile, 1));
  EXPECT_TRUE(bad(flush_column::kPosition, -1));
  EXPECT_TRUE(bad(flush_column::kSliceBytes, -1));
  EXPECT_FALSE(bad(flush_column::kConnection, -5));
  EXPECT_FALSE(bad(flush_column::kFile, -1));
}
