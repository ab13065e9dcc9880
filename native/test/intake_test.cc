// Receiving over a real socket pair: frames of every size around the budgets, cut at every point, held back
// and taken up again.

#include "core/intake.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <random>
#include <string>
#include <vector>

#include "test/harness.h"

using namespace millrace;

namespace {

constexpr std::size_t kBudget = 4096;

std::string Framed(const std::string& contents) {
  std::uint8_t prefix[4];
  StoreBigEndian32(prefix, static_cast<std::uint32_t>(contents.size()));
  return std::string(reinterpret_cast<char*>(prefix), 4) + contents;
}

std::string Pattern(std::size_t bytes, unsigned seed) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; i++) text[i] = static_cast<char>(i * 131 + seed + (i >> 8));
  return text;
}

/** One connection, its peer, and turns. */
struct Play {
  Play(std::uint32_t max_frame, std::uint32_t requests_max, std::uint32_t rows_max, std::size_t spare = 0)
      : arena(max_frame + 4 + kBudget + spare),
        rows(rows_max * kFrameColumns),
        intake(arena.data(), arena.size(), rows.data(), rows_max, max_frame, requests_max) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    for (const int fd : pair) fcntl(fd, F_SETFL, O_NONBLOCK);
    connection.fd = Fd(pair[0]);
    peer = Fd(pair[1]);
    connection.id = 7;
    connection.state = ConnectionState::kOpen;
  }

  std::size_t Send(const std::string& bytes) {
    const ssize_t sent = send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }

  /** One turn; what it cut is appended to `frames`. */
  IntakeStop Turn(std::size_t budget = kBudget) {
    intake.Reset();
    const IntakeResult result = intake.Read(connection, budget, ++now);
    for (std::uint32_t i = 0; i < intake.rows(); i++) {
      const std::int32_t* const row = &rows[i * kFrameColumns];
      frames.emplace_back(reinterpret_cast<const char*>(arena.data()) + row[frame_column::kOffset],
                          static_cast<std::size_t>(row[frame_column::kLength]));
    }
    last = result;
    return result.stop;
  }

  std::vector<std::uint8_t> arena;
  std::vector<std::int32_t> rows;
  Intake intake;
  Connection connection;
  Fd peer;
  std::vector<std::string> frames;
  IntakeResult last{IntakeStop::kWait};
  std::int64_t now = 1000;
};

/** Sends all of it, as far as the socket takes it, with a turn in between. Ends early only when nothing moves
 * any more. */
void Exchange(Play& play, const std::string& all, std::size_t piece, std::size_t expected) {
  std::size_t sent = 0;
  for (int idle = 0; idle < 100 && play.frames.size() < expected;) {
    const std::size_t put = sent < all.size() ? play.Send(all.substr(sent, piece)) : 0;
    sent += put;
    const std::size_t frames_before = play.frames.size();
    play.Turn();
    play.connection.open = 0;
    idle = put + play.last.received + play.frames.size() - frames_before > 0 ? 0 : idle + 1;
  }
}

}  // namespace

TEST("one byte at a time brings whole frames and copies nothing twice") {
  Play play(100'000, 1000, 100);
  const std::vector<std::string> contents = {"a", Pattern(3000, 1), "bc", Pattern(20, 2)};
  std::string all;
  for (const std::string& one : contents) all += Framed(one);
  for (const char byte : all) {
    play.Send(std::string(1, byte));
    ASSERT_TRUE(play.Turn() == IntakeStop::kWait);
    EXPECT_LE(play.connection.gather.capacity(), 2 * 3004 + 256);
  }
  EXPECT_TRUE(play.frames == contents);
  EXPECT_TRUE(play.connection.gather.empty());
}

TEST("frames of every size around the budget and the large-frame threshold are whole, in any pieces") {
  std::vector<std::size_t> sizes;
  for (const std::size_t edge : {kBudget, 2 * kBudget, std::size_t{65536}, std::size_t{65536} + kBudget}) {
    for (std::size_t size = edge - 9; size <= edge + 9; size++) sizes.push_back(size);
  }
  sizes.push_back(1);
  sizes.push_back(300'000);
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{4096}, std::size_t{60'000}}) {
    Play play(300'000, 1000, 50);
    std::vector<std::string> contents;
    std::string all;
    for (const std::size_t size : sizes) {
      contents.push_back(Pattern(size, static_cast<unsigned>(size)));
      all += Framed(contents.back());
    }
    Exchange(play, all, piece, contents.size());
    EXPECT_EQ(play.frames.size(), contents.size());
    EXPECT_TRUE(play.frames == contents);
    EXPECT_TRUE(play.connection.gather.empty());
  }
}

TEST("random frames in random pieces come out as they went in") {
  const unsigned seed = std::random_device{}();
  std::printf("  seed %u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; round++) {
    Play play(50'000, 1 + random() % 40, 1 + random() % 20);
    std::vector<std::string> contents;
    std::string all;
    for (int i = 0; i < 200; i++) {
      contents.push_back(Pattern(1 + random() % (i % 10 == 0 ? 50'000 : 60), random()));
      all += Framed(contents.back());
    }
    std::size_t sent = 0;
    for (int turn = 0; turn < 200'000 && play.frames.size() < contents.size(); turn++) {
      if (sent < all.size()) sent += play.Send(all.substr(sent, 1 + random() % 9000));
      play.Turn(1 + random() % 8000);
      play.connection.open -= std::min<std::uint32_t>(play.connection.open, random() % 50);
    }
    ASSERT_TRUE(play.frames == contents);
  }
}

TEST("an announcement alone takes no memory") {
  Play play(8 << 20, 1000, 10);
  std::uint8_t prefix[4];
  StoreBigEndian32(prefix, 8 << 20);
  play.Send(std::string(reinterpret_cast<char*>(prefix), 4) + "x");
  EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
  EXPECT_LE(play.connection.gather.capacity(), 512);
}

TEST("the memory of a large frame goes with it, even if the next one has begun") {
  Play play(300'000, 1000, 100);
  const std::string large = Framed(Pattern(300'000, 1));
  const std::string all = large + Framed("next");
  Exchange(play, all.substr(0, large.size() + 1), 60'000, 1);
  EXPECT_EQ(play.frames.size(), 1);
  EXPECT_EQ(play.connection.gather.size(), 1);
  EXPECT_LE(play.connection.gather.capacity(), 16 * 1024);
  Exchange(play, all.substr(large.size() + 1), 60'000, 2);
  EXPECT_EQ(play.frames.back(), "next");
}

TEST("at the bound of open requests bytes are held back, and taken up without anything new arriving") {
  Play play(1000, 3, 100);
  std::string all;
  for (int i = 0; i < 8; i++) all += Framed(std::string(1, static_cast<char>('a' + i)));
  play.Send(all);
  EXPECT_TRUE(play.Turn() == IntakeStop::kRequests);
  EXPECT_EQ(play.frames.size(), 3);
  EXPECT_TRUE(play.Turn() == IntakeStop::kRequests);
  EXPECT_EQ(play.last.received, 0);
  EXPECT_EQ(play.frames.size(), 3);
  play.connection.open = 1;
  EXPECT_TRUE(play.Turn() == IntakeStop::kRequests);
  EXPECT_EQ(play.frames.size(), 5);
  play.connection.open = 0;
  EXPECT_TRUE(play.Turn() == IntakeStop::kRequests);
  EXPECT_EQ(play.frames.size(), 8);
  play.connection.open = 0;
  EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
  EXPECT_EQ(play.frames.back(), "h");
}

TEST("at that bound nothing more is received, so the peer notices") {
  Play play(1000, 1, 100);
  play.Send(Framed("a"));
  EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
  play.Send(Framed("b"));
  EXPECT_TRUE(play.Turn() == IntakeStop::kRequests);
  EXPECT_EQ(play.last.received, 0);
}

TEST("a full table puts the rest into the next turn") {
  Play play(1000, 1000, 4);
  std::string all;
  for (int i = 0; i < 10; i++) all += Framed(std::string(1, static_cast<char>('a' + i)));
  play.Send(all);
  EXPECT_TRUE(play.Turn() == IntakeStop::kBacklog);
  EXPECT_TRUE(play.Turn() == IntakeStop::kBacklog);
  EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
  EXPECT_EQ(play.frames.size(), 10);
}

TEST("an arena without room puts the connection into the next turn, whose arena has room") {
  Play play(10'000, 1000, 10);
  const std::string large = Pattern(9000, 3);
  const std::string all = Framed(large) + Framed("b");
  play.Send(all.substr(0, 8000));
  play.Turn();
  play.Turn();
  EXPECT_EQ(play.connection.gather.size(), 8000);
  // Somebody else has used most of the arena in this turn.
  Play other(10'000, 1000, 10);
  play.Send(all.substr(8000));
  play.intake.Reset();
  Connection& c = other.connection;
  other.Send(Framed(Pattern(7000, 4)));
  while (play.intake.rows() == 0) (void)play.intake.Read(c, kBudget, 1);
  EXPECT_TRUE(play.intake.Read(play.connection, kBudget, 1).stop == IntakeStop::kBacklog);
  EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
  ASSERT_EQ(play.frames.size(), 2);
  EXPECT_TRUE(play.frames[0] == large);
}

TEST("frames before a bad length are delivered, then the stream has ended") {
  for (const std::uint32_t length : {0u, 0xffffffffu, 0x7fffffffu, 1001u}) {
    for (const bool apart : {false, true}) {
      Play play(1000, 10, 10);
      std::uint8_t prefix[4];
      StoreBigEndian32(prefix, length);
      const std::string bad = std::string(reinterpret_cast<char*>(prefix), 4) + "noise";
      play.Send(Framed("good") + (apart ? bad.substr(0, 2) : bad));
      if (apart) {
        EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
        play.Send(bad.substr(2));
      }
      EXPECT_TRUE(play.Turn() == IntakeStop::kBadLength);
      EXPECT_EQ(play.frames.size(), 1);
      EXPECT_EQ(play.frames[0], "good");
    }
  }
}

TEST("the end of the stream comes after what was sent before it") {
  Play play(1000, 10, 10);
  play.Send(Framed("last") + "xx");
  shutdown(play.peer.get(), SHUT_WR);
  EXPECT_TRUE(play.Turn() == IntakeStop::kWait);
  EXPECT_TRUE(play.Turn() == IntakeStop::kEndOfStream);
  EXPECT_EQ(play.frames.size(), 1);
}

TEST("the clock of a frame starts with its first byte and not with each one") {
  Play play(1000, 10, 10);
  const std::string bytes = Framed("abcdef");
  play.Send(bytes.substr(0, 2));
  play.Turn();
  const std::int64_t since = play.connection.frame_since_ms;
  EXPECT_EQ(since, play.now);
  for (int i = 2; i < 6; i++) {
    play.Send(bytes.substr(static_cast<std::size_t>(i), 1));
    play.Turn();
    EXPECT_EQ(play.connection.frame_since_ms, since);
  }
  play.Send(bytes.substr(6) + bytes.substr(0, 5));
  play.Turn();
  EXPECT_EQ(play.frames.size(), 1);
  EXPECT_EQ(play.connection.frame_since_ms, play.now);
}
