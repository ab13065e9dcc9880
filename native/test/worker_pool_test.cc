// The pools: order, limits, and above all the end, which comes while jobs run and others wait.

#include "core/worker_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

TEST("one thread takes the jobs in their order") {
  WorkerPool pool(1);
  std::vector<int> order;
  std::atomic<int> done{0};
  for (int i = 0; i < 100; i++) {
    pool.Submit([&, i] {
      order.push_back(i);
      done++;
    });
  }
  while (done < 100) usleep(100);
  for (int i = 0; i < 100; i++) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

#if defined(__linux__)

TEST(
    "a pool that gives way has threads with a smaller share of the processor, and leaves the others theirs") {
  const int ours = getpriority(PRIO_PROCESS, 0);
  std::atomic<int> theirs{100};
  std::atomic<int> usual{100};
  WorkerPool pool(1, /*gives_way=*/true);
  pool.Submit([&] { theirs = getpriority(PRIO_PROCESS, 0); });
  WorkerPool other(1);
  other.Submit([&] { usual = getpriority(PRIO_PROCESS, 0); });
  while (theirs == 100 || usual == 100) usleep(100);
  EXPECT_EQ(theirs.load(), std::min(19, ours + 5));
  EXPECT_EQ(usual.load(), ours);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), ours);
}

#endif

TEST("never more threads than the limit, and as many when there is work") {
  WorkerPool pool(3);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  for (int i = 0; i < 30; i++) {
    pool.Submit([&] {
      const int now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      usleep(3000);
      running--;
      done++;
    });
  }
  while (done < 30) usleep(100);
  EXPECT_EQ(most.load(), 3);
}

TEST("a limit that is raised is good for the jobs that wait already") {
  WorkerPool pool(1);
  std::atomic<int> running{0};
  std::atomic<bool> go_on{false};
  for (int i = 0; i < 4; i++) {
    pool.Submit([&] {
      running++;
      while (!go_on) usleep(100);
    });
  }
  while (running == 0) usleep(100);
  pool.set_limit(3);
  for (int tries = 0; tries < 100'000 && running < 3; tries++) usleep(100);
  EXPECT_EQ(running.load(), 3);
  go_on = true;
  while (running < 4) usleep(100);
}

TEST("stopping waits for what runs, drops what waits, and takes nothing more") {
  for (int round = 0; round < 20; round++) {
    WorkerPool pool(2);
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    auto held = std::make_shared<int>(1);
    for (int i = 0; i < 20; i++) {
      pool.Submit([&, held] {
        begun++;
        usleep(2000);
        ended++;
      });
    }
    while (begun == 0) usleep(50);
    pool.Stop();
    EXPECT_EQ(begun.load(), ended.load());
    EXPECT_LT(ended.load(), 20);
    EXPECT_EQ(held.use_count(), 1);
    pool.Submit([&] { begun = 1000; });
    pool.Stop();
    EXPECT_LT(begun.load(), 1000);
  }
}

TEST("jobs come from jobs and from several threads") {
  WorkerPool pool(4);
  std::atomic<int> done{0};
  Thread other;
  EXPECT_TRUE(other.Start([&] {
    for (int i = 0; i < 500; i++) pool.Submit([&] { done++; });
  }));
  for (int i = 0; i < 500; i++) {
    pool.Submit([&] { pool.Submit([&] { done++; }); });
  }
  other.Join();
  while (done < 1000) usleep(100);
  EXPECT_EQ(done.load(), 1000);
}

TEST("completions wake once for a batch, run in order, and what comes meanwhile wakes again") {
  int wakes = 0;
  CompletionQueue queue([&] { wakes++; });
  std::vector<int> order;
  queue.Post([&] {
    order.push_back(1);
    queue.Post([&] { order.push_back(3); });
  });
  queue.Post([&] { order.push_back(2); });
  EXPECT_EQ(wakes, 1);
  queue.Drain();
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(order.size(), 2u);
  queue.Drain();
  EXPECT_TRUE((order == std::vector<int>{1, 2, 3}));
}

TEST("completions that are discarded let go of what they held and never run") {
  CompletionQueue queue([] {});
  auto held = std::make_shared<int>(1);
  bool ran = false;
  queue.Post([held, &ran] { ran = true; });
  queue.Discard();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(ran);
}

TEST("completions from many threads all arrive") {
  std::atomic<int> wakes{0};
  CompletionQueue queue([&] { wakes++; });
  int arrived = 0;
  {
    WorkerPool pool(4);
    std::atomic<int> posted{0};
    for (int i = 0; i < 1000; i++) {
      pool.Submit([&] {
        queue.Post([&] { arrived++; });
        posted++;
      });
    }
    while (posted < 1000) {
      if (wakes.exchange(0) > 0) queue.Drain();
    }
  }
  queue.Drain();
  EXPECT_EQ(arrived, 1000);
}

}  // namespace
}  // namespace millrace::test
