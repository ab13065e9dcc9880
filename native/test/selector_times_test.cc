// The selector over real sockets: how long a frame, an answer and an idle connection may take.

#include <sys/socket.h>

#include <string>
#include <vector>

#include "core/selector.h"
#include "test/harness.h"
#include "test/selector_client.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

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
