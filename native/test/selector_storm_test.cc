// Everything at once, from a seed: clients that send in any pieces, read when they feel like it, half-close,
// reset, talk nonsense, and a handler that answers at once or later, with and without slices. Each client
// checks every byte it gets.

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "test/harness.h"
#include "test/scratch_file.h"
#include "test/selector_play.h"

using namespace millrace;

namespace counter = selector_counter;

namespace {

constexpr std::size_t kFileBytes = 2 << 20;

std::string Number(std::uint32_t value) {
  std::uint8_t bytes[4];
  StoreBigEndian32(bytes, value);
  return std::string(reinterpret_cast<char*>(bytes), 4);
}

/** What the answer to a request is: its number, then so many bytes of the file from a place that follows from
 * the number. */
struct Answer {
  explicit Answer(std::uint32_t number)
      : bytes(number % 3 == 0 ? number * 7919u % (number % 30 == 0 ? 300'000 : 20'000) : 0),
        position(number * 104'729u % (kFileBytes - 300'000)) {}
  std::uint32_t bytes;
  std::uint32_t position;
};

struct Client {
  enum class End { kNone, kHalf, kReset, kNoise };
  Fd fd;
  std::string outgoing;
  std::deque<std::uint32_t> expected;
  std::string incoming;
  End end = End::kNone;
  bool ended = false;

  /** Takes whole answers off `incoming`. */
  void Check() {
    std::size_t at = 0;
    while (!expected.empty()) {
      const Answer answer(expected.front());
      if (incoming.size() - at < 4 + answer.bytes) break;
      const auto* data = reinterpret_cast<const std::uint8_t*>(incoming.data()) + at;
      EXPECT_EQ(LoadBigEndian32(data), expected.front());
      bool same = true;
      for (std::uint32_t i = 0; i < answer.bytes; i++)
        same = same && data[4 + i] == PatternAt(answer.position + i);
      EXPECT_TRUE(same);
      at += 4 + answer.bytes;
      expected.pop_front();
    }
    incoming.erase(0, at);
  }
};

void Storm(unsigned seed, bool zero_copy) {
  std::mt19937 random(seed);
  const ScratchFile scratch(kFileBytes);
  SelectorOptions options = SelectorPlay::Defaults();
  options.max_frame_bytes = 200'000;
  options.requests_max = 1 + random() % 30;
  options.turn_bytes_in = 1000 + random() % 60'000;
  options.turn_bytes_out = 1000 + random() % 200'000;
  options.queued_bytes_max = 300'000 + random() % 2'000'000;
  options.connection_queued_bytes_max = 1000 + random() % 100'000;
  options.connections_max = 12;
  options.zero_copy = zero_copy;
  SelectorPlay play(options);

  // Requests that are answered later, in order for each connection.
  std::map<std::int32_t, std::deque<std::uint32_t>> parked;
  int opened = 0;
  int closed = 0;
  const auto answer = [&](std::int32_t id, std::uint32_t number) {
    const Answer slice(number);
    const auto bytes = static_cast<std::int32_t>(slice.bytes);
    play.Reply(id, Number(number), 1, bytes > 0 ? scratch.file() : nullptr,
               static_cast<std::int32_t>(slice.position), bytes);
  };
  play.on_opened = [&](std::int32_t id) {
    opened++;
    EXPECT_EQ(parked.count(id), 0);
    parked[id];
  };
  play.on_frame = [&](std::int32_t id, const std::uint8_t* bytes, std::size_t length) {
    ASSERT_EQ(parked.count(id), 1);
    ASSERT_GE(length, 4);
    EXPECT_EQ(length, 4 + LoadBigEndian32(bytes) % 20 + (LoadBigEndian32(bytes) % 50 == 0 ? 150'000 : 0));
    parked[id].push_back(LoadBigEndian32(bytes));
    EXPECT_LE(parked[id].size(), options.requests_max);
  };
  play.on_closed = [&](std::int32_t id, CloseReason) {
    closed++;
    parked.erase(id);
  };

  std::vector<Client> clients;
  std::uint32_t number = 0;
  int begun = 0;
  for (int step = 0; step < 400'000 && (begun < 60 || !clients.empty()); step++) {
    if (begun < 60 && clients.size() < 16 && random() % 20 == 0) {
      clients.emplace_back();
      clients.back().fd = play.Connect();
      begun++;
    }
    for (Client& client : clients) {
      if (client.ended || random() % 3 == 0) continue;
      if (client.end == Client::End::kNone && client.outgoing.size() < 400'000 && random() % 4 == 0) {
        for (std::uint32_t i = random() % 40; i > 0; i--) {
          number++;
          const std::uint32_t length = 4 + number % 20 + (number % 50 == 0 ? 150'000 : 0);
          client.outgoing += Number(length) + Number(number) + std::string(length - 4, 'f');
          client.expected.push_back(number);
        }
      }
      if (client.end == Client::End::kNone && random() % 60 == 0) {
        client.end = static_cast<Client::End>(1 + random() % 3);
        if (client.end == Client::End::kNoise)
          client.outgoing += Number(random() % 2 == 0 ? 0 : 0x80000000u) + "noise";
      }
      if (!client.outgoing.empty()) {
        const std::size_t part = std::min<std::size_t>(client.outgoing.size(), 1 + random() % 100'000);
        const ssize_t sent = send(client.fd.get(), client.outgoing.data(), part, MSG_NOSIGNAL);
        if (sent > 0) client.outgoing.erase(0, static_cast<std::size_t>(sent));
      } else if (client.end == Client::End::kHalf) {
        shutdown(client.fd.get(), SHUT_WR);
      }
      if (client.end == Client::End::kReset && random() % 4 == 0) {
        const linger hard{1, 0};
        setsockopt(client.fd.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        client.fd.Reset();
        client.ended = true;
        continue;
      }
      if (random() % 3 != 0) {
        char buffer[100'000];
        const ssize_t got = recv(client.fd.get(), buffer, 1 + random() % sizeof buffer, 0);
        if (got > 0) {
          client.incoming.append(buffer, static_cast<std::size_t>(got));
          client.Check();
        } else if (got == 0 || errno != EAGAIN) {
          // All that was asked has been answered, whoever ended it, and nothing besides.
          EXPECT_EQ(client.expected.size(), 0);
          EXPECT_EQ(client.incoming.size(), 0);
          EXPECT_TRUE(client.end != Client::End::kNone);
          client.ended = true;
          client.fd.Reset();
        }
      }
    }
    clients.erase(std::remove_if(clients.begin(), clients.end(), [](const Client& c) { return c.ended; }),
                  clients.end());

    for (auto& [id, numbers] : parked) {
      for (std::uint32_t i = random() % 20; i > 0 && !numbers.empty(); i--) {
        answer(id, numbers.front());
        numbers.pop_front();
      }
    }
    play.Turn(0);
    if (random() % 50 == 0) scratch.DropFromCache();
    EXPECT_LE(play.counter(counter::kOutputBytes), options.queued_bytes_max + 2'000'000);
  }
  EXPECT_TRUE(clients.empty());
  for (int i = 0; i < 20'000 && (play.selector.connections() > 0 || closed < opened); i++) {
    for (auto& [id, numbers] : parked) {
      for (const std::uint32_t late : numbers) answer(id, late);
      numbers.clear();
    }
    play.Turn(1);
  }
  EXPECT_EQ(opened, 60);
  EXPECT_EQ(closed, 60);
  EXPECT_EQ(play.counter(counter::kGatheredBytes), 0);
  EXPECT_EQ(play.counter(counter::kOutputBytes), 0);
  EXPECT_EQ(play.counter(counter::kConnections), 0);
}

}  // namespace

TEST("sixty clients of every kind get their answers, all of them and nothing else") {
  const char* const given = std::getenv("MILLRACE_SEED");
  const unsigned seed =
      given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  std::printf("  MILLRACE_SEED=%u\n", seed);
  Storm(seed, true);
  Storm(seed + 1, false);
}
