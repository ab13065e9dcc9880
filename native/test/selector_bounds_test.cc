// The selector over real sockets: at the bound on all queued bytes, whoever holds them.

#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "core/selector.h"
#include "test/harness.h"
#include "test/selector_client.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

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
