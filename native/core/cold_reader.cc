// The jobs. A plain read into a scratch buffer and not readahead(): only a read says when the bytes are
// there, and whether the disk could give them at all.

#include "core/cold_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/io.h"
#include "core/platform.h"

namespace millrace {

namespace {
struct Outcome {
  ColdOutcome outcome;
  off_t until;
  int error = 0;
};

Outcome ReadIn(const File& file, off_t position, std::size_t bytes, std::size_t ahead) {
  // What is read ahead is decided here, for each reader alike. The system's own read-ahead would be begun by
  // a sendfile on the loop, would follow whoever came last of those that share the descriptor, and is as
  // large as somebody has set it for the disk: 8 MiB for each reader are half a GiB for 64 of them.
  platform::NoReadAhead(file.fd());
  // All of it at once: page by page, or in pieces of the scratch, a disk is asked a little at a time.
  platform::ReadAhead(file.fd(), position, bytes + ahead);
  constexpr std::size_t kScratchBytes = 64 * 1024;
  thread_local std::uint8_t scratch[kScratchBytes];
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kScratchBytes);
    const ssize_t got = ReadAt(file.fd(), scratch, part, position);
    if (got < 0) return {ColdOutcome::kFileError, position, errno};
    if (static_cast<std::size_t>(got) < part) return {ColdOutcome::kFileShort, position + got};
    position += got;
    bytes -= part;
  }
  return {ColdOutcome::kRead, position};
}
}  // namespace

ColdReader::ColdReader(WorkerPool& pool, CompletionQueue& completions, Done done)
    : pool_(pool),
      completions_(completions),
      done_(std::move(done)),
      link_(std::make_shared<Link>(Link{this})) {}

ColdReader::~ColdReader() { link_->owner = nullptr; }

std::uint64_t ColdReader::Request(std::int32_t id, FilePtr file, off_t position, std::size_t bytes,
                                  std::size_t ahead) {
  waiting_.emplace(++last_ticket_, Job{id, std::move(file), position, std::min(bytes, kChunkBytes), ahead});
  StartSome();
  return last_ticket_;
}

void ColdReader::Forget(std::uint64_t ticket) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) return;
  Release(std::move(found->second.file));
  waiting_.erase(found);
}

void ColdReader::StartSome() {
  while (running_ < kJobsMax && !waiting_.empty()) {
    Job job = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    running_++;
    pool_.Submit([job = std::move(job), link = link_, completions = &completions_] {
      const Outcome outcome = ReadIn(*job.file, job.position, job.bytes, job.ahead);
      completions->Post([link, id = job.id, outcome] {
        ColdReader* const owner = link->owner;
        if (owner == nullptr) return;
        owner->running_--;
        owner->StartSome();
        owner->done_(id, outcome.outcome, outcome.until, outcome.error);
      });
    });
  }
}

}  // namespace millrace
