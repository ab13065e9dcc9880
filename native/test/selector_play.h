// A selector with everything it needs, driven from a test: its tables, its pool, and a loop that waits as an
// event loop would.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <functional>
#include <string>
#include <vector>

#include "core/selector.h"
#include "test/harness.h"

namespace millrace {

struct SelectorPlay {
  static SelectorOptions Defaults() {
    SelectorOptions options{};
    options.max_frame_bytes = 1 << 20;
    options.connections_max = 1000;
    options.requests_max = 64;
    options.turn_bytes_in = 64 * 1024;
    options.turn_bytes_out = 256 * 1024;
    options.queued_bytes_max = 64 << 20;
    options.connection_queued_bytes_max = 4 << 20;
    options.frame_timeout_ms = 30'000;
    options.write_stall_ms = 30'000;
    options.zero_copy = true;
    return options;
  }

  explicit SelectorPlay(SelectorOptions options = Defaults(), std::size_t flush_rows = 512)
      : completions([this] { (void)!write(pipe_in, "x", 1); }),
        arena(options.max_frame_bytes + 4 + 4 * options.turn_bytes_in),
        flushes(flush_rows * kFlushColumns),
        selector(options, Tables(), pool, completions, [] {}) {
    int ends[2];
    (void)!pipe(ends);
    pipe_out = ends[0];
    pipe_in = ends[1];
    EXPECT_FALSE(static_cast<bool>(selector.Open()));
    EXPECT_FALSE(static_cast<bool>(selector.Listen("127.0.0.1", 0, &port)));
  }
  ~SelectorPlay() {
    pool.Stop();
    close(pipe_out);
    close(pipe_in);
  }

  SelectorTables Tables() {
    return {arena.data(),   arena.size(),
            replies.data(), replies.size(),
            frames.data(),  static_cast<std::uint32_t>(frames.size() / kFrameColumns),
            opened.data(),  static_cast<std::uint32_t>(opened.size()),
            closed.data(),  static_cast<std::uint32_t>(closed.size() / 2),
            flushes.data(), static_cast<std::uint32_t>(flushes.size() / kFlushColumns),
            counters.data()};
  }

  /** One turn; waits up to `timeout_ms` for something to do. */
  Selector::Rows Turn(int timeout_ms = 10) {
    if (!selector.NeedsTurn()) {
      pollfd ready[2] = {{selector.fd(), POLLIN, 0}, {pipe_out, POLLIN, 0}};
      poll(ready, 2, timeout_ms);
      if ((ready[1].revents & POLLIN) != 0) {
        char buffer[64];
        (void)!read(pipe_out, buffer, sizeof buffer);
      }
    }
    completions.Drain();
    const Selector::Rows rows = selector.BeginTurn();
    for (std::uint32_t i = 0; i < rows.opened; i++) {
      if (on_opened) on_opened(opened[i]);
    }
    for (std::uint32_t i = 0; i < rows.frames; i++) {
      const std::int32_t* const row = &frames[i * kFrameColumns];
      if (on_frame) {
        on_frame(row[frame_column::kConnection], arena.data() + row[frame_column::kOffset],
                 static_cast<std::size_t>(row[frame_column::kLength]));
      }
    }
    for (std::uint32_t i = 0; i < rows.closed; i++) {
      const auto reason = static_cast<CloseReason>(closed[2 * i + 1]);
      if (reason == CloseReason::kInputEnded) {
        input_ended.push_back(closed[2 * i]);
      } else if (on_closed) {
        on_closed(closed[2 * i], reason);
      }
    }
    Send();
    selector.EndTurn();
    turns++;
    return rows;
  }

  void TurnUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 100'000 && !done(); i++) Turn();
    EXPECT_TRUE(done());
  }

  /** Adds a row; sent at the end of the turn, or by Send. */
  void Reply(std::int32_t connection, const std::string& bytes, std::int32_t completed = 1,
             FilePtr file = nullptr, std::int32_t position = 0, std::int32_t slice_bytes = 0) {
    if (used + bytes.size() > replies.size() || (rows + 1) * kFlushColumns > flushes.size()) Send();
    std::memcpy(replies.data() + used, bytes.data(), bytes.size());
    std::int32_t* const row = &flushes[rows++ * kFlushColumns];
    row[flush_column::kConnection] = connection;
    row[flush_column::kOffset] = static_cast<std::int32_t>(used);
    row[flush_column::kLength] = static_cast<std::int32_t>(bytes.size());
    row[flush_column::kCompleted] = completed;
    // As the broker does: rows of one file behind each other name it once.
    const bool again = file != nullptr && !files.empty() && files.back() == file;
    row[flush_column::kFile] =
        file != nullptr ? static_cast<std::int32_t>(files.size() - (again ? 1 : 0)) : -1;
    row[flush_column::kPosition] = position;
    row[flush_column::kSliceBytes] = slice_bytes;
    if (file != nullptr && !again) files.push_back(std::move(file));
    used += bytes.size();
  }
  void Send() {
    EXPECT_EQ(selector.CheckFlush(static_cast<std::uint32_t>(rows), files.size()), -1);
    selector.Flush(static_cast<std::uint32_t>(rows), files);
    files.clear();
    rows = used = 0;
  }

  /** A client that does not block. */
  Fd Connect() const {
    Fd fd(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    fcntl(fd.get(), F_SETFL, O_NONBLOCK);
    return fd;
  }
  double counter(std::uint32_t which) const { return counters[which]; }

  int pipe_out = -1;
  int pipe_in = -1;
  WorkerPool pool{2};
  CompletionQueue completions;
  std::vector<std::uint8_t> arena;
  std::vector<std::uint8_t> replies = std::vector<std::uint8_t>(1 << 20);
  std::vector<std::int32_t> frames = std::vector<std::int32_t>(512 * kFrameColumns);
  std::vector<std::int32_t> opened = std::vector<std::int32_t>(64);
  std::vector<std::int32_t> closed = std::vector<std::int32_t>(2 * 16);
  /** Connections whose peers send nothing more, as they were told. */
  std::vector<std::int32_t> input_ended;
  std::vector<std::int32_t> flushes;
  std::vector<double> counters = std::vector<double>(kSelectorCounters);
  Selector selector;

  std::function<void(std::int32_t)> on_opened;
  std::function<void(std::int32_t, const std::uint8_t*, std::size_t)> on_frame;
  std::function<void(std::int32_t, CloseReason)> on_closed;
  std::vector<FilePtr> files;
  std::size_t rows = 0;
  std::size_t used = 0;
  int port = 0;
  std::uint64_t turns = 0;
};

}  // namespace millrace
