// What keeps clients that ask for much and take nothing from being in everybody's way: few open requests
// where requests crowd, and an end where that does not help.

#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "core/platform.h"
#include "core/selector.h"
#include "test/harness.h"
#include "test/selector_client.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

namespace {

constexpr double kBound = 1'000'000;
/** Above where requests crowd, and below where they do not any more. */
constexpr double kCrowded = 300'000;
constexpr double kNotCrowded = 100'000;

SelectorOptions Options() {
  SelectorOptions options = SelectorPlay::Defaults();
  options.max_frame_bytes = 300'000;
  options.queued_bytes_max = kBound;
  return options;
}

std::string Many(int count) {
  std::string all;
  for (int i = 0; i < count; i++) all += Framed("request");
  return all;
}

/** Sends all of it, in turns. */
void Write(SelectorPlay& play, const Fd& fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t put = send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (put > 0) sent += static_cast<std::size_t>(put);
    play.Turn(1);
  }
}

/** A broker with some clients, and how many frames each has handed over. */
struct Clients {
  Clients(SelectorPlay& play, std::size_t count) {
    play.on_opened = [this](std::int32_t id) { ids.push_back(id); };
    play.on_frame = [this](std::int32_t id, const std::uint8_t*, std::size_t) { frames[id]++; };
    play.on_closed = [this](std::int32_t id, CloseReason reason) { ends[id] = reason; };
    for (std::size_t i = 0; i < count; i++) {
      fds.push_back(play.Connect());
      play.TurnUntil([&] { return ids.size() == i + 1; });
    }
  }
  std::vector<Fd> fds;
  std::vector<std::int32_t> ids;
  std::map<std::int32_t, int> frames;
  std::map<std::int32_t, CloseReason> ends;
};

void Crowd(SelectorPlay& play, double bytes) {
  play.counters[counter::kExternalQueuedBytes] = bytes;
  play.Send();
}

void Turns(SelectorPlay& play, int count) {
  for (int i = 0; i < count; i++) play.Turn(1);
}

/** Until so much waits that the socket does not take, which takes a little more for a while. */
void Owe(SelectorPlay& play, std::int32_t id, std::size_t bytes) {
  do {
    while (play.selector.QueuedBytes(id) < bytes) {
      play.Reply(id, std::string(50'000, 's'), 0);
      play.Send();
    }
    Turns(play, 20);
  } while (play.selector.QueuedBytes(id) < bytes);
}

}  // namespace

TEST("where requests crowd a connection has few of them open, and the rest stays in its socket") {
  SelectorPlay play(Options());
  Clients clients(play, 2);
  const std::int32_t greedy = clients.ids[0];
  const std::int32_t modest = clients.ids[1];
  Crowd(play, kCrowded);
  Write(play, clients.fds[0], Many(60));
  Turns(play, 5);
  EXPECT_EQ(clients.frames[greedy], 16);
  EXPECT_EQ(play.counter(counter::kGatheredBytes), 0);
  // Others are read all the while, and nothing spins.
  Write(play, clients.fds[1], Many(1));
  play.TurnUntil([&] { return clients.frames[modest] == 1; });
  EXPECT_EQ(play.counter(counter::kPauses), 0);
  pollfd ready{play.selector.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 20), 0);
  // As many more as are answered.
  play.Reply(greedy, "ok", 10);
  play.Send();
  play.TurnUntil([&] { return clients.frames[greedy] == 26; });
  Turns(play, 5);
  EXPECT_EQ(clients.frames[greedy], 26);
  // When they crowd no longer the others come without an answer.
  Crowd(play, kNotCrowded);
  play.TurnUntil([&] { return clients.frames[greedy] == 60; });
}

TEST("what was held back before requests crowded comes as its connection's requests are answered") {
  SelectorPlay play(Options());
  Clients clients(play, 1);
  const std::int32_t id = clients.ids[0];
  // More than may be open in any case.
  Write(play, clients.fds[0], Many(150));
  Turns(play, 5);
  EXPECT_EQ(clients.frames[id], 64);
  Crowd(play, kCrowded);
  play.Reply(id, "ok", 40);
  play.Send();
  Turns(play, 5);
  EXPECT_EQ(clients.frames[id], 64);
  play.Reply(id, "ok", 20);
  play.Send();
  play.TurnUntil([&] { return clients.frames[id] == 76; });
  Turns(play, 5);
  EXPECT_EQ(clients.frames[id], 76);
  Crowd(play, kNotCrowded);
  play.TurnUntil([&] { return clients.frames[id] == 124; });
}

TEST("what was held back before requests crowded comes when they do not any more, without another answer") {
  SelectorPlay play(Options());
  Clients clients(play, 2);
  const std::int32_t holding = clients.ids[0];
  const std::int32_t full = clients.ids[1];
  Write(play, clients.fds[0], Many(100));
  // Here what is more stays in the socket.
  Write(play, clients.fds[1], Many(64));
  Turns(play, 5);
  Write(play, clients.fds[1], Many(36));
  Turns(play, 5);
  EXPECT_EQ(clients.frames[holding], 64);
  EXPECT_EQ(clients.frames[full], 64);
  Crowd(play, kCrowded);
  play.Reply(holding, "ok", 40);
  play.Reply(full, "ok", 40);
  play.Send();
  Turns(play, 5);
  Crowd(play, kNotCrowded);
  play.TurnUntil([&] { return clients.frames[holding] == 100 && clients.frames[full] == 100; });
}

TEST("fetches that wait for records are no reason for fewer requests; those behind them are") {
  SelectorPlay play(Options());
  Clients clients(play, 1);
  const std::int32_t id = clients.ids[0];
  play.counters[counter::kExternalWaitingBytes] = kBound / 2;
  Crowd(play, kBound / 2 + 50'000);
  Write(play, clients.fds[0], Many(40));
  play.TurnUntil([&] { return clients.frames[id] == 40; });
  // The half that they leave is what others have a quarter of.
  Crowd(play, kBound / 2 + 150'000);
  play.Reply(id, "ok", 24);
  play.Send();
  Write(play, clients.fds[0], Many(5));
  Turns(play, 5);
  EXPECT_EQ(clients.frames[id], 40);
  Crowd(play, kBound / 2 + 50'000);
  play.TurnUntil([&] { return clients.frames[id] == 45; });
}

TEST("a part of a frame is looked at again when news of it come in a turn that has read its connection") {
  SelectorPlay play(Options());
  Clients clients(play, 1);
  const std::int32_t id = clients.ids[0];
  Write(play, clients.fds[0], Many(70));
  Turns(play, 5);
  const std::string last = Framed("request");
  Write(play, clients.fds[0], last.substr(0, 6));
  Turns(play, 5);
  Crowd(play, kCrowded);
  play.Reply(id, "ok", 64);
  play.Send();
  // What was held back goes in the first, so that there is nothing to wait for before the second, which finds
  // the part. From then on only news are told, and the first of them at once: of this part, or of more.
  play.Turn(0);
  EXPECT_EQ(clients.frames[id], 70);
  play.Turn(0);
  EXPECT_TRUE(play.selector.NeedsTurn());
  Turns(play, 2);
  EXPECT_FALSE(play.selector.NeedsTurn());
  pollfd ready{play.selector.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 20), 0);
  Write(play, clients.fds[0], last.substr(6));
  play.TurnUntil([&] { return clients.frames[id] == 71; });
}

TEST("a large frame is gathered also where requests crowd, as is one that comes in pieces") {
  SelectorPlay play(Options());
  Clients clients(play, 2);
  Crowd(play, kCrowded);
  Write(play, clients.fds[0], Framed(std::string(250'000, 'l')));
  play.TurnUntil([&] { return clients.frames[clients.ids[0]] == 1; });
  for (const char byte : Many(1)) Write(play, clients.fds[1], std::string(1, byte));
  play.TurnUntil([&] { return clients.frames[clients.ids[1]] == 1; });
  // And the largest that is taken whole, of which no more than it may lie in the socket.
  const std::string whole = Framed(std::string(Intake::kWholeBytes - 4, 'w'));
  Write(play, clients.fds[1], whole.substr(0, 10'000));
  Write(play, clients.fds[1], whole.substr(10'000));
  play.TurnUntil([&] { return clients.frames[clients.ids[1]] == 2; });
}

TEST("at the bound those are closed that take nothing; who takes a little or holds little stays") {
  SelectorPlay play(Options());
  Clients clients(play, 5);
  const auto& ids = clients.ids;
  const auto owe = [&](std::size_t i, std::size_t bytes) { Owe(play, ids[i], bytes); };
  owe(0, 600'000);
  owe(1, 800'000);
  owe(2, 1'500'000);
  owe(3, 20'000);
  ASSERT_GT(play.counter(counter::kOutputBytes), kBound);
  const auto pass = [&](int ms) {
    for (const std::int64_t until = MonotonicUs() + ms * 1000; MonotonicUs() < until;) {
      play.Turn(20);
    }
    // One of them reads, far too little for its socket to take more.
    char some[120'000];
    (void)!recv(clients.fds[2].get(), some, sizeof some, 0);
    play.Turn(20);
    play.selector.Sweep();
    play.Turn(0);
  };
  pass(100);
  pass(500);
  EXPECT_EQ(clients.ends.size(), 0);
  for (int passes = 0; passes < 10 && clients.ends.size() < 2; passes++) pass(500);
  pass(500);
  EXPECT_EQ(clients.ends.size(), 2);
  EXPECT_TRUE(clients.ends[ids[0]] == CloseReason::kShed);
  EXPECT_TRUE(clients.ends[ids[1]] == CloseReason::kShed);
  EXPECT_EQ(play.counter(counter::kShed), 2);
}

TEST("no more are closed because others wait for records than make room beside those") {
  SelectorPlay play(Options());
  Clients clients(play, 8);
  const auto& ids = clients.ids;
  play.counters[counter::kExternalWaitingBytes] = kBound / 2;
  Crowd(play, kBound / 2);
  Owe(play, ids[0], 400'000);
  Owe(play, ids[1], 120'000);
  ASSERT_GT(play.counter(counter::kOutputBytes), kBound / 2);
  for (int passes = 0; passes < 5; passes++) {
    for (const std::int64_t until = MonotonicUs() + 500'000; MonotonicUs() < until;) play.Turn(20);
    play.selector.Sweep();
    play.Turn(0);
  }
  EXPECT_EQ(clients.ends.size(), 1);
  EXPECT_TRUE(clients.ends[ids[0]] == CloseReason::kShed);
}
