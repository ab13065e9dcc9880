// Brings pages of files into the cache on reading threads, so that the event loop never waits for a disk.
// Whoever finds a slice cold asks for its next chunk and goes on when it is told. Chunks are served in the
// order of asking and a connection asks for one at a time, so each reader gets its turn; a bounded number of
// jobs is under way at once.
//
// It knows files and ids, not connections: one that went away meanwhile is simply not found when the answer
// comes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "core/file.h"
#include "core/let_go.h"
#include "core/worker_pool.h"

namespace millrace {

enum class ColdOutcome { kRead, kFileShort, kFileError };

class ColdReader {
 public:
  /** `done` is called on the loop thread with the id, the position up to which the file is in the cache now,
   * and with kFileError the errno. */
  using Done = std::function<void(std::int32_t id, ColdOutcome outcome, off_t until, int error)>;

  ColdReader(WorkerPool& pool, CompletionQueue& completions, Done done);
  ~ColdReader();

  /** At most a chunk of `bytes` is read in. `ahead` bytes behind it are asked of the disk and not waited for.
   * Returns a ticket. */
  std::uint64_t Request(std::int32_t id, FilePtr file, off_t position, std::size_t bytes, std::size_t ahead);
  /** For whoever sends from files: gives one up without the loop waiting for the disk. */
  void Release(FilePtr file) { LetGo(std::move(file), pool_); }
  /** Nobody waits for it any more. What has not begun is dropped: no disk works for those that are gone. */
  void Forget(std::uint64_t ticket);
  /** Drops what has not begun. */
  void Clear() { waiting_.clear(); }

  /** What is asked for at once, and read without asking again. A slow disk takes some milliseconds for it.
   * With twice as much a reader is no faster, and barriers wait longer behind it. */
  static constexpr std::size_t kChunkBytes = 256 * 1024;
  /** Fewer than the pool has threads would leave a disk idle, more would only queue in front of others who
   * read. */
  static constexpr int kJobsMax = 4;

 private:
  struct Job {
    std::int32_t id;
    FilePtr file;
    off_t position;
    std::size_t bytes;
    std::size_t ahead;
  };
  /** Outlives us in jobs that are under way. Touched on the loop thread only. */
  struct Link {
    ColdReader* owner;
  };

  void StartSome();

  WorkerPool& pool_;
  CompletionQueue& completions_;
  Done done_;
  /** By their tickets, which is the order in which they came. */
  std::map<std::uint64_t, Job> waiting_;
  std::uint64_t last_ticket_ = 0;
  int running_ = 0;
  std::shared_ptr<Link> link_;
};

}  // namespace millrace
