// What the outlet leaves in a connection, at moments that a whole selector reaches by chance: a socket that
// is full from the beginning, and a file that ends in the middle of slices that lie behind each other.

#include "core/outlet.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "core/selector_abi.h"
#include "test/harness.h"
#include "test/scratch_file.h"

namespace millrace {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kForeverUs = INT64_MAX / 2;

/** An outlet with one connection, whose other end is `peer`. */
struct Play {
  explicit Play(bool zero_copy)
      : completions([] {}),
        cold(pool, completions, [](std::int32_t, ColdOutcome, off_t, int) {}),
        outlet(cold, failures, zero_copy, 512 * 1024, kForeverUs, counters.data()) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    connection.fd = Fd(ends[0]);
    peer = Fd(ends[1]);
    for (const int end : ends) fcntl(end, F_SETFL, O_NONBLOCK);
  }

  void FillSocket() const {
    const std::string bytes(64 * 1024, 'x');
    while (write(connection.fd.get(), bytes.data(), bytes.size()) > 0) continue;
    while (write(connection.fd.get(), bytes.data(), 1) > 0) continue;
  }
  std::string Received() const {
    std::string all(1 << 20, '\0');
    std::size_t count = 0;
    for (ssize_t got; (got = read(peer.get(), &all[count], all.size() - count)) > 0;) {
      count += static_cast<std::size_t>(got);
    }
    all.resize(count);
    return all;
  }

  WorkerPool pool{1};
  CompletionQueue completions;
  SliceFailures failures;
  ColdReader cold;
  std::vector<double> counters = std::vector<double>(kSelectorCounters);
  Connection connection;
  Fd peer;
  Outlet outlet;
};

Outlet::Header Head(const std::string& text, std::size_t instead = 0) {
  const std::size_t count = text.size() - instead;
  return {reinterpret_cast<const std::uint8_t*>(text.data()), count, instead > 0 ? count : 0, instead, false};
}

TEST("a stall is counted from the answer that finds the socket full, and not from the last one an hour ago") {
  const ScratchFile scratch(1000);
  for (const bool zero_copy : {true, false}) {
    Play play(zero_copy);
    play.FillSocket();
    play.outlet.NextTurn(1, kHourMs * 1000);
    const std::string head = "head";
    play.outlet.SendSlice(play.connection, Head(head), scratch.file(), 0, 1000, 1000);
    EXPECT_TRUE(play.connection.sending == Sending::kBlocked);
    EXPECT_EQ(play.connection.progress_ms, kHourMs);
    EXPECT_FALSE(play.connection.out.empty());
  }
}

#if defined(__linux__)

TEST("of answers behind each other in a file that ends among them, the one whose slice is gone gives way") {
  const ScratchFile scratch(100);
  Play play(/*zero_copy=*/true);
  play.outlet.NextTurn(1, kHourMs * 1000);
  const std::string answers[] = {"head0sorry", "head1sorry"};
  for (off_t i = 0; i < 2; i++) {
    play.outlet.SendSlice(play.connection, Head(answers[i], 5), scratch.file(), i * 100, 100, 200);
  }
  EXPECT_TRUE(play.connection.sending == Sending::kIdle);
  std::string expected = "head0";
  for (std::size_t i = 0; i < 100; i++) expected += static_cast<char>(PatternAt(i));
  const std::string received = play.Received();
  EXPECT_EQ(received.size(), expected.size() + 5);
  EXPECT_TRUE(received == expected + "sorry");
}

#endif

}  // namespace
}  // namespace millrace
