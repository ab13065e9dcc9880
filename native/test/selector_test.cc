// The selector over real sockets: connections, their ends, and turns. selector_storm_test.cc has everything
// at once.

#include "core/selector.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "test/harness.h"
#include "test/scratch_file.h"
#include "test/selector_client.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

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
