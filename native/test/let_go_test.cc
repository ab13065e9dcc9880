// The last reference to a removed file is given up on a worker, every other one where it is.

#include "core/let_go.h"

#include <fcntl.h>

#include <condition_variable>
#include <mutex>

#include "test/harness.h"
#include "test/scratch_file.h"

using namespace millrace;

namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

/** A pool whose only thread is busy until it is told. */
struct BusyPool {
  BusyPool() {
    pool.Submit([this] {
      std::unique_lock<std::mutex> lock(mutex);
      told.wait(lock, [this] { return free; });
    });
  }
  void Free() {
    std::lock_guard<std::mutex> lock(mutex);
    free = true;
    told.notify_all();
  }
  ~BusyPool() { Free(); }

  std::mutex mutex;
  std::condition_variable told;
  bool free = false;
  WorkerPool pool{1};
};

FilePtr OpenAgain(const ScratchFile& scratch) {
  return std::make_shared<File>(Fd(open(scratch.path().c_str(), O_RDONLY | O_CLOEXEC)), scratch.path());
}

}  // namespace

TEST("a file that has its name still is closed at once") {
  const ScratchFile scratch(1000);
  BusyPool busy;
  FilePtr file = OpenAgain(scratch);
  const int fd = file->fd();
  LetGo(std::move(file), busy.pool);
  EXPECT_FALSE(IsOpen(fd));
  LetGo(nullptr, busy.pool);
}

TEST("a removed file is closed by a worker, and only with its last reference") {
  const ScratchFile scratch(1000);
  BusyPool busy;
  FilePtr file = OpenAgain(scratch);
  const int fd = file->fd();
  unlink(scratch.path().c_str());
  LetGo(file, busy.pool);
  EXPECT_EQ(file.use_count(), 1);
  LetGo(std::move(file), busy.pool);
  EXPECT_TRUE(IsOpen(fd));
  busy.Free();
  while (IsOpen(fd)) sched_yield();
}

TEST("a removed file is closed in any case, also when the pool takes nothing any more") {
  const ScratchFile scratch(1000);
  WorkerPool pool(1);
  pool.Stop();
  FilePtr file = OpenAgain(scratch);
  const int fd = file->fd();
  unlink(scratch.path().c_str());
  LetGo(std::move(file), pool);
  EXPECT_FALSE(IsOpen(fd));
}
