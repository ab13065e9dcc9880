// The selector over real sockets: how long a frame, an answer and an idle connection may take.

#include <sys/socket.h>

#include <map>
#include <string>
#include <vector>

#include "core/selector.h"
#include "test/harness.h"
#include "test/selector_client.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

namespace {

/** A broker in which requests crowd, with some clients, in their order. */
struct Crowded {
  static SelectorOptions Options() {
    SelectorOptions options = SelectorPlay::Defaults();
    options.queued_bytes_max = 1'000'000;
    options.frame_timeout_ms = 2000;
    return options;
  }
  explicit Crowded(std::size_t count) : play(Options()), ends(play) {
    play.on_opened = [this](std::int32_t id) { ids.push_back(id); };
    play.on_frame = [this](std::int32_t id, const std::uint8_t*, std::size_t) { frames[id]++; };
    for (std::size_t i = 0; i < count; i++) {
      clients.push_back(play.Connect());
      play.TurnUntil([&] { return ids.size() == i + 1; });
    }
    Hold(300'000);
  }
  /** What the caller holds for requests. */
  void Hold(double bytes) {
    play.counters[counter::kExternalQueuedBytes] = bytes;
    play.Send();
  }
  void Pass(int ms) {
    for (const std::int64_t until = MonotonicUs() + ms * 1000; MonotonicUs() < until;) play.Turn(5);
  }
  void Sweep() {
    play.selector.Sweep();
    play.Turn(0);
  }
  /** How many it has handed over, when there are so many or a moment has passed. */
  int Frames(std::size_t i, int expected) {
    for (int turns = 0; turns < 200 && frames[ids[i]] < expected; turns++) play.Turn();
    return frames[ids[i]];
  }
  bool IsLate(std::size_t i) const {
    const auto found = ends.reasons.find(ids[i]);
    return found != ends.reasons.end() && found->second == CloseReason::kFrameTimeout;
  }

  SelectorPlay play;
  Ends ends;
  std::vector<Fd> clients;
  std::vector<std::int32_t> ids;
  std::map<std::int32_t, int> frames;
  const std::string frame = Framed("request");
};

}  // namespace

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

TEST("a small frame that stays in its socket while requests crowd has its time, and no more") {
  Crowded crowded(4);
  const auto& clients = crowded.clients;
  Write(clients[0], crowded.frame.substr(0, 6));
  // Its end lies behind what is not taken, and is not seen.
  Write(clients[1], crowded.frame.substr(0, 6));
  shutdown(clients[1].get(), SHUT_WR);
  Write(clients[2], crowded.frame.substr(0, 1));
  Write(clients[3], crowded.frame + crowded.frame.substr(0, 6));
  crowded.Pass(1000);
  EXPECT_EQ(crowded.play.counter(counter::kGatheredBytes), 0);
  // News of it are not a beginning, but one that is whole is an end.
  Write(clients[2], crowded.frame.substr(1, 1));
  Write(clients[3], crowded.frame.substr(6) + crowded.frame.substr(0, 6));
  crowded.Pass(50);
  crowded.Sweep();
  EXPECT_EQ(crowded.ends.reasons.size(), 0);
  crowded.Pass(1050);
  crowded.Sweep();
  for (std::size_t i = 0; i < 3; i++) EXPECT_TRUE(crowded.IsLate(i));
  EXPECT_EQ(crowded.ends.reasons.size(), 3);
  Write(clients[3], crowded.frame.substr(6));
  EXPECT_EQ(crowded.Frames(3, 3), 3);
  crowded.Pass(2050);
  crowded.Sweep();
  EXPECT_EQ(crowded.ends.reasons.size(), 3);
}

TEST("the time of a frame that stayed in its socket goes on when it is received") {
  Crowded crowded(1);
  Write(crowded.clients[0], crowded.frame.substr(0, 6));
  crowded.Pass(1000);
  crowded.Hold(0);
  crowded.Pass(1050);
  EXPECT_GT(crowded.play.counter(counter::kGatheredBytes), 0);
  crowded.Sweep();
  EXPECT_TRUE(crowded.IsLate(0));
}

TEST("a frame that lies in its socket where nobody may look is not late") {
  Crowded crowded(1);
  Write(crowded.clients[0], crowded.frame.substr(0, 6));
  crowded.Pass(50);
  crowded.Hold(crowded.Options().queued_bytes_max);
  Write(crowded.clients[0], crowded.frame.substr(6));
  for (int i = 0; i < 5; i++) {
    crowded.Pass(500);
    crowded.Sweep();
  }
  EXPECT_EQ(crowded.Frames(0, 0), 0);
  EXPECT_EQ(crowded.ends.reasons.size(), 0);
  crowded.Hold(300'000);
  crowded.Sweep();
  EXPECT_EQ(crowded.Frames(0, 1), 1);
}
