// What both write paths have in common: opening, reserving, when a barrier is issued, and the end.

#include "core/segment_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/channel_writer.h"
#include "core/io.h"
#include "core/mapped_writer.h"
#include "core/page.h"
#include "core/platform.h"

namespace millrace {
namespace {

/** A writer that has caught up waits for one such piece: a millisecond, ten where memory comes slowly. */
constexpr std::uint32_t kFilledPieceBytes = 2 * 1024 * 1024;

Fd OpenFile(const std::string& path, int flags) {
  for (;;) {
    const int fd = platform::Open(path.c_str(), flags | O_RDWR);
    if (fd >= 0 || errno != EINTR) return Fd(fd);
  }
}

}  // namespace

SegmentWriter::SegmentWriter(const SegmentWriterConfig& config, FilePtr file, std::uint32_t end)
    : next_index(end),
      staged_end_(end),
      file_(std::move(file)),
      format_(config.format),
      capacity_(config.capacity),
      max_payload_(
          config.capacity > config.format->header_bytes ? config.capacity - config.format->header_bytes : 0),
      index_interval_(config.index_interval),
      end_(end),
      reserved_(end),
      name_(config.path) {}

std::shared_ptr<SegmentWriter> SegmentWriter::Make(const SegmentWriterConfig& config, FilePtr file,
                                                   std::uint32_t end) {
  if (config.mode == SegmentMode::kMapped)
    return std::make_shared<MappedWriter>(config, std::move(file), end);
  return std::make_shared<ChannelWriter>(config, std::move(file), end);
}

std::shared_ptr<SegmentWriter> SegmentWriter::Create(const SegmentWriterConfig& config, SysError* error) {
  Fd fd = OpenFile(config.path, O_CREAT | O_EXCL);
  if (!fd.valid()) {
    *error = SysError::Last("open", config.path);
    return nullptr;
  }
  auto writer = Make(config, std::make_shared<File>(std::move(fd), config.path), 0);
  *error = writer->Prepare();
  if (!*error) *error = writer->Reserve(config.reserve);
  // Forced while nothing in it is dirty. Later, with pages populated ahead, the same call would write all of
  // those.
  if (!*error && !config.force_later) *error = writer->Force(0);
  if (!*error) return writer;
  ::unlink(config.path.c_str());
  return nullptr;
}

std::shared_ptr<SegmentWriter> SegmentWriter::Open(const SegmentWriterConfig& config, std::uint32_t end,
                                                   SysError* error) {
  Fd fd = OpenFile(config.path, 0);
  struct stat stat{};
  if (!fd.valid() || ::fstat(fd.get(), &stat) != 0) {
    *error = SysError::Last(fd.valid() ? "fstat" : "open", config.path);
    return nullptr;
  }
  if (stat.st_size < static_cast<off_t>(end)) {
    *error = {EINVAL, "open", config.path};  // The records cannot end behind the end of the file.
    return nullptr;
  }
  if (stat.st_size > static_cast<off_t>(end)) {
    // Cut before anything else, and on the disk: a record that was given up must not come back after a power
    // cut, behind others that took its place.
    int code = ResizeFile(fd.get(), end);
    const char* syscall = "ftruncate";
    if (code == 0) {
      code = ForceFile(fd.get());
      syscall = "fsync";
    }
    if (code != 0) {
      *error = {code, syscall, config.path};
      return nullptr;
    }
  }
  auto writer = Make(config, std::make_shared<File>(std::move(fd), config.path), end);
  *error = writer->Prepare();
  if (*error) return nullptr;
  *error = writer->Reserve(config.reserve);
  // What is there can be read on a full disk, too; to write there must be room again, as for every later
  // reservation.
  if (error->code == ENOSPC || error->code == EDQUOT) *error = {};
  return *error ? nullptr : writer;
}

void SegmentWriter::Populate(std::uint32_t) {}

int SegmentWriter::TryLastPage(std::uint32_t) { return 0; }

int SegmentWriter::Fill(std::uint32_t, std::uint32_t) { return 0; }

void SegmentWriter::HandOver(std::uint32_t) {}

void SegmentWriter::NameChanged(const std::string& path) {
  std::lock_guard<std::mutex> lock(naming_);
  name_ = path;
}

SysError SegmentWriter::Failure(int code, const char* syscall) {
  std::lock_guard<std::mutex> lock(naming_);
  return {code, syscall, name_};
}

void SegmentWriter::Break(int code) {
  int none = 0;
  broken_.compare_exchange_strong(none, code, std::memory_order_release, std::memory_order_relaxed);
}

SysError SegmentWriter::Reserve(std::uint32_t up_to) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard<std::mutex> lock(reserving_);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  const std::uint32_t from = reserved_.load(std::memory_order_relaxed);
  const std::uint32_t to = std::min(up_to, capacity_);
  if (finished_ || to <= from) return {};
  bool filled = false;
  SysError error = ReserveBlocks(from, to, to, &filled);
  if (!error) reserved_.store(to, std::memory_order_release);
  return error;
}

SysError SegmentWriter::ReserveFilled(std::uint32_t up_to) {
  const std::uint32_t end = std::min(up_to, capacity_);
  do {
    std::lock_guard<std::mutex> lock(reserving_);
    const std::uint32_t from = reserved_.load(std::memory_order_relaxed);
    if (finished_ || from >= end) return {};
    const std::uint32_t to = std::min(end, from - from % kFilledPieceBytes + kFilledPieceBytes);
    bool filled = false;
    // Blocks for all of it first: a call for each piece would wait for the journal each time.
    if (blocks_ < end) {
      if (SysError error = ReserveBlocks(from, end, to, &filled)) return error;
      if (!filled) blocks_ = end;
    }
    if (!filled) {
      if (const int code = Fill(from, to)) return Failure(code, "pwrite");
    }
    reserved_.store(to, std::memory_order_release);
  } while (waiting_.load(std::memory_order_relaxed) == 0);
  return {};
}

SysError SegmentWriter::ReserveBlocks(std::uint32_t from, std::uint32_t to, std::uint32_t at_least,
                                      bool* filled) {
  // Whole pages: the first store into a page asks the file system for all of its blocks, also where a block
  // is smaller than a page, and those behind `to` may be the ones for which there is no room (SIGBUS).
  const auto pages = [this](std::uint32_t position) { return std::min(PageCeiling(position), capacity_); };
  switch (platform::ReserveBlocks(file_->fd(), from, pages(to))) {
    case platform::ReserveResult::kReserved:
      break;
    case platform::ReserveResult::kFailed:
      return Failure(errno, "fallocate");
    case platform::ReserveResult::kUnsupported:
      if (const int code = ReserveWithoutBlocks(from, pages(at_least))) return Failure(code, "pwrite");
      *filled = true;
      break;
  }
  if (const int code = TryLastPage(pages(*filled ? at_least : to))) return Failure(code, "madvise");
  return {};
}

SysError SegmentWriter::Force(std::uint32_t end) {
  std::lock_guard<std::mutex> lock(forcing_);
  if (const int code = broken()) return Failure(code, "barrier");
  if (!resized_ && end <= forced_) return {};
  SysError error;
  if (resized_) {
    HandOver(end);
    if (const int code = ForceFile(file_->fd())) error = Failure(code, "fsync");
  } else {
    error = ForceRange(forced_, end);
  }
  if (error) {
    Break(error.code);
    return error;
  }
  resized_ = false;
  forced_ = std::max(forced_, end);
  return {};
}

SysError SegmentWriter::Finish(bool force) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard<std::mutex> reserving(reserving_);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  std::lock_guard<std::mutex> forcing(forcing_);
  if (force) {
    if (const int code = broken()) return Failure(code, "barrier");
  }
  finished_ = true;
  Release();
  if (force) {
    // Who cut the file beside us took records with it. To extend it again would call the hole sound, and the
    // next start would trust it.
    struct stat now = {};
    const int code = ::fstat(file_->fd(), &now) != 0 ? errno : now.st_size < end() ? EIO : 0;
    if (code != 0) {
      Break(code);
      return Failure(code, "fstat");
    }
  }
  if (const int code = ResizeFile(file_->fd(), end())) {
    Break(code);
    return Failure(code, "ftruncate");
  }
  // A barrier that was asked for before and is still in its queue finds that it has to cover the cut.
  resized_ = true;
  if (!force) return {};
  // One barrier, after the cut: it covers the records and the size, and pages that were populated ahead are
  // gone by then.
  if (const int code = ForceFile(file_->fd())) {
    Break(code);
    return Failure(code, "fsync");
  }
  resized_ = false;
  forced_ = end();
  return {};
}

}  // namespace millrace
