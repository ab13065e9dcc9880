// Worth running under ThreadSanitizer: jobs on several threads, answers on one, and an owner that goes in
// between.

#include "core/cold_reader.h"

#include <fcntl.h>
#include <poll.h>

#include <map>
#include <string>
#include <vector>

#include "test/harness.h"
#include "test/scratch_file.h"

using namespace millrace;

namespace {

/** The loop thread: waits for completions and runs them. */
struct Loop {
  Loop() : completions([this] { (void)!write(pipe_in, "x", 1); }) {
    int ends[2];
    (void)!pipe(ends);
    pipe_out = ends[0];
    pipe_in = ends[1];
  }
  ~Loop() {
    pool.Stop();
    close(pipe_out);
    close(pipe_in);
  }
  void Run() {
    pollfd ready{pipe_out, POLLIN, 0};
    if (poll(&ready, 1, 5000) == 1) {
      char buffer[64];
      (void)!read(pipe_out, buffer, sizeof buffer);
    }
    completions.Drain();
  }

  int pipe_out = -1;
  int pipe_in = -1;
  WorkerPool pool{4};
  CompletionQueue completions;
};

}  // namespace

TEST("every request is answered once, with how far the file is in the cache") {
  const ScratchFile scratch(4 << 20);
  Loop loop;
  std::map<std::int32_t, std::vector<off_t>> answers;
  std::size_t count = 0;
  ColdReader reader(loop.pool, loop.completions, [&](std::int32_t id, ColdOutcome outcome, off_t until, int) {
    EXPECT_TRUE(outcome == ColdOutcome::kRead);
    answers[id].push_back(until);
    count++;
  });
  for (std::int32_t round = 0; round < 4; round++) {
    for (std::int32_t id = 1; id <= 50; id++) reader.Request(id, scratch.file(), round * 1000, 5000, 0);
  }
  while (count < 200) loop.Run();
  for (const auto& [id, untils] : answers) EXPECT_EQ(untils.size(), 4);
  EXPECT_EQ(answers[1].front() % 1000, 0);
}

TEST("a request brings in a chunk at most, so that the next reader gets its turn") {
  const ScratchFile scratch(4 << 20);
  Loop loop;
  off_t until = 0;
  ColdReader reader(loop.pool, loop.completions,
                    [&](std::int32_t, ColdOutcome, off_t end, int) { until = end; });
  reader.Request(1, scratch.file(), 100, 4 << 20, 0);
  while (until == 0) loop.Run();
  EXPECT_EQ(until, static_cast<off_t>(100 + ColdReader::kChunkBytes));
}

TEST("what nobody waits for any more is not read, and its file is let go") {
  const ScratchFile scratch(4 << 20);
  const ScratchFile gone(4 << 20);
  Loop loop;
  std::vector<std::int32_t> answered;
  ColdReader reader(loop.pool, loop.completions,
                    [&](std::int32_t id, ColdOutcome, off_t, int) { answered.push_back(id); });
  // As many as are under way at once: those behind them begin when one of these was answered on this thread.
  for (std::int32_t id = 1; id <= ColdReader::kJobsMax; id++) reader.Request(id, scratch.file(), 0, 5000, 0);
  const auto holders = gone.file().use_count();
  std::vector<std::uint64_t> tickets;
  for (std::int32_t id = 100; id < 200; id++) tickets.push_back(reader.Request(id, gone.file(), 0, 5000, 0));
  reader.Request(7, scratch.file(), 0, 5000, 0);
  EXPECT_EQ(gone.file().use_count(), holders + 100);
  for (const std::uint64_t ticket : tickets) reader.Forget(ticket);
  EXPECT_EQ(gone.file().use_count(), holders);
  while (answered.size() < ColdReader::kJobsMax + 1) loop.Run();
  EXPECT_EQ(answered.back(), 7);
  reader.Forget(tickets[0]);
}

TEST("a file that ends too early and one that cannot be read are told apart") {
  const ScratchFile scratch(1000);
  const FilePtr write_only =
      std::make_shared<File>(Fd(open(scratch.path().c_str(), O_WRONLY)), scratch.path());
  Loop loop;
  std::map<std::int32_t, ColdOutcome> outcomes;
  ColdReader reader(loop.pool, loop.completions,
                    [&](std::int32_t id, ColdOutcome outcome, off_t, int) { outcomes[id] = outcome; });
  reader.Request(1, scratch.file(), 0, 1000, 0);
  reader.Request(2, scratch.file(), 0, 1001, 0);
  reader.Request(3, write_only, 0, 10, 0);
  while (outcomes.size() < 3) loop.Run();
  EXPECT_TRUE(outcomes[1] == ColdOutcome::kRead);
  EXPECT_TRUE(outcomes[2] == ColdOutcome::kFileShort);
  EXPECT_TRUE(outcomes[3] == ColdOutcome::kFileError);
}

TEST("jobs that are under way when their owner goes end in nothing, and let go of the file") {
  const ScratchFile scratch(4 << 20);
  const FilePtr file = scratch.file();
  {
    Loop loop;
    for (int round = 0; round < 50; round++) {
      ColdReader reader(loop.pool, loop.completions,
                        [](std::int32_t, ColdOutcome, off_t, int) { EXPECT_TRUE(false); });
      for (std::int32_t id = 1; id <= 10; id++) reader.Request(id, file, 0, 100'000, 0);
      reader.Clear();
    }
    loop.completions.Drain();
  }
  EXPECT_EQ(file.use_count(), 2);
}
