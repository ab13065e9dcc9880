// See outlet.h: slices of files. Whether they may be sent without waiting for a disk, and how much of them at
// a time.

#include <algorithm>
#include <cerrno>

#include "core/io.h"
#include "core/outlet.h"
#include "core/platform.h"
#include "core/residency.h"
#include "core/socket.h"

namespace millrace {

namespace counter = selector_counter;

/** A little more than its share where that ends a slice: the rest would leave as a short packet of its own.
 */
std::size_t Outlet::NextChunk(Connection& c, std::size_t left) const {
  const std::size_t budget = Budget(c);
  const std::size_t chunk = std::min(left, chunk_bytes_);
  if (budget == 0) return 0;
  return chunk <= budget + turn_bytes_ / 4 ? chunk : budget;
}

/** Looked for once for all of them: from each one anew, a queue of small slices would take its square. */
off_t Outlet::RunUntil(const OutputQueue::Chunk& slice) {
  if (queued_.Has(slice.file.get(), slice.position, slice.left)) return queued_.until;
  off_t until = slice.position + static_cast<off_t>(slice.left);
  const off_t enough = slice.position + static_cast<off_t>(turn_bytes_);
  for (const auto* chunk = slice.next.get(); chunk != nullptr && until < enough; chunk = chunk->next.get()) {
    if (!chunk->is_slice()) continue;
    if (chunk->file != slice.file || chunk->position < slice.position || chunk->position > until) break;
    until = std::max(until, chunk->position + static_cast<off_t>(chunk->left));
  }
  queued_ = {slice.file.get(), slice.position, until};
  return until;
}

bool Outlet::IsCached(const Slice& slice, std::size_t chunk, off_t run_until) {
  const File* const file = slice.file.get();
  if (!zero_copy_) {
    // Nothing says more of whether it can be read than reading it. When a part is missing, a worker sees why.
    const ssize_t got = platform::ReadCached(file->fd(), scratch_.get(), chunk, slice.position);
    begins_ = got == static_cast<ssize_t>(chunk);
    if (begins_) NoteRead(slice, chunk);
    return begins_;
  }
  const off_t until = slice.position + static_cast<off_t>(chunk);
  begins_ = run_.Has(file, slice.position, chunk);
  if (begins_) return true;
  const auto run = std::min(static_cast<std::size_t>(std::max(run_until, until) - slice.position),
                            std::max(turn_bytes_, chunk));
  // Where the file ends before the run does, each slice is looked at for itself.
  if (run > chunk && PagesCached(file->fd(), slice.position, run, &begins_) && begins_) {
    run_ = {file, slice.position, slice.position + static_cast<off_t>(run)};
    return true;
  }
  return PagesCached(file->fd(), slice.position, chunk, &begins_);
}

bool Outlet::IsWarm(Connection& c, const Slice& slice, std::size_t chunk, off_t run_until) {
  const off_t until = slice.position + static_cast<off_t>(chunk);
  begins_ = false;
  if (until <= c.warm_until) return true;
  if (IsCached(slice, chunk, run_until)) {
    c.warm_until = until;
    return true;
  }
  counters_[counter::kColdReads] += 1;
  c.sending = Sending::kCold;
  // Whoever goes on where the last read ended, or a little behind it, reads in sequence and will want what
  // comes then; of anybody else only the rest of the slice is known to be wanted.
  const auto ahead_max = static_cast<off_t>(kAheadBytes);
  const bool in_sequence = c.cold_file == slice.file.get() && slice.position >= c.cold_end &&
                           slice.position <= c.cold_end + ahead_max;
  const std::size_t part = std::min(slice.left, ColdReader::kChunkBytes);
  c.cold_file = slice.file.get();
  c.cold_end = slice.position + static_cast<off_t>(part);
  c.cold_ticket = cold_.Request(c.id, slice.file, slice.position, part,
                                in_sequence ? kAheadBytes : std::min(slice.left - part, kAheadBytes));
  return false;
}

std::size_t Outlet::PumpSlice(Connection& c, Slice slice, off_t run_until) {
  const std::size_t all = slice.left;
  while (slice.left > 0) {
    const std::size_t chunk = NextChunk(c, slice.left);
    if (chunk == 0 || over_slices()) {
      c.sending = Sending::kLate;
      break;
    }
    if (!IsWarm(c, slice, chunk, run_until)) break;
    const ssize_t sent = SendChunk(c, slice, chunk);
    if (c.sending == Sending::kFailed) return all - slice.left;
    slice.position += sent;
    slice.left -= static_cast<std::size_t>(sent);
    if (sent < static_cast<ssize_t>(chunk)) {
      Block(c);
      break;
    }
  }
  if (slice.left == 0) c.warm_until = 0;  // it was about this slice, not about the next one
  return all - slice.left;
}

/**
 * Before the answer's head leaves, after which nothing else can be said. The heap path reads what it sends
 * then. For a sendfile a byte has to do: the pages are known to be in the cache, so it costs a call, and what
 * a file system refuses all the same it refuses here. Should they be gone since, that is no failure.
 */
int Outlet::Try(const Slice& slice, std::size_t chunk) {
  if (begins_) return 0;
  std::uint8_t byte;
  const int fd = slice.file->fd();
  const ssize_t got = zero_copy_ ? platform::ReadCached(fd, &byte, 1, slice.position)
                                 : ReadAt(fd, scratch_.get(), chunk, slice.position);
  if (got < 0) return errno == EAGAIN ? 0 : errno;
  if (got == 0) return SliceFailure::kFileEnded;
  if (!zero_copy_) NoteRead(slice, static_cast<std::size_t>(got));
  return 0;
}

void Outlet::NoteRead(const Slice& slice, std::size_t bytes) {
  tried_file_ = slice.file.get();
  tried_position_ = slice.position;
  tried_bytes_ = bytes;
}

bool Outlet::HasRead(const Slice& slice, std::size_t chunk) const {
  return tried_file_ == slice.file.get() && tried_position_ == slice.position && tried_bytes_ >= chunk;
}

void Outlet::TellFailure(const Slice& slice, int error, bool closes) {
  counters_[counter::kFileFailures] += 1;
  failures_.Add({slice.file->path(), slice.position, slice.left, error, closes});
}

void Outlet::FailSlice(Connection& c, const Slice& slice, int error) {
  TellFailure(slice, error, true);
  c.Fail(error == SliceFailure::kFileEnded ? CloseReason::kFileShort : CloseReason::kFileError);
}

Outlet::Sent Outlet::SendWithChunk(Connection& c, const std::uint8_t* bytes, std::size_t count,
                                   std::size_t chunk) {
  tried_file_ = nullptr;
  const ssize_t sent = SendTwo(c.fd.get(), bytes, count, scratch_.get(), chunk);
  if (sent < 0) {
    if (IsAgain(static_cast<int>(-sent)))
      Block(c);
    else
      FailSend(c, static_cast<int>(-sent));
    return {0, 0};
  }
  const auto all = static_cast<std::size_t>(sent);
  const std::size_t of_slice = all - std::min(all, count);
  Account(c, all);
  slice_bytes_ += of_slice;
  counters_[counter::kHeapBytes] += static_cast<double>(of_slice);
  if (of_slice < chunk) Block(c);
  return {std::min(all, count), of_slice};
}

/** How much was sent, 0 when the socket is full; sets kFailed. */
ssize_t Outlet::SendChunk(Connection& c, const Slice& slice, std::size_t chunk) {
  ssize_t sent;
  if (zero_copy_) {
    sent = SendFile(c.fd.get(), slice.file->fd(), slice.position, chunk);
    counters_[counter::kSendfileCalls] += 1;
    if (sent == 0) FailSlice(c, slice, SliceFailure::kFileEnded);
    if (sent == -EIO || sent == -EINVAL || sent == -EOVERFLOW) FailSlice(c, slice, static_cast<int>(-sent));
  } else {
    const bool has_read = HasRead(slice, chunk);
    tried_file_ = nullptr;
    const ssize_t got = has_read ? static_cast<ssize_t>(chunk)
                                 : ReadAt(slice.file->fd(), scratch_.get(), chunk, slice.position);
    if (got <= 0) {
      FailSlice(c, slice, got == 0 ? SliceFailure::kFileEnded : errno);
      return 0;
    }
    sent = millrace::SendBytes(c.fd.get(), scratch_.get(), static_cast<std::size_t>(got), false);
  }
  if (c.sending == Sending::kFailed) return 0;
  if (sent < 0) {
    if (!IsAgain(static_cast<int>(-sent))) FailSend(c, static_cast<int>(-sent));
    return 0;
  }
  Account(c, static_cast<std::size_t>(sent));
  slice_bytes_ += static_cast<std::size_t>(sent);
  counters_[zero_copy_ ? counter::kSendfileBytes : counter::kHeapBytes] += static_cast<double>(sent);
  return sent;
}

}  // namespace millrace
