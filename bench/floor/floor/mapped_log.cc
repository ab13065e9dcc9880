#include "floor/mapped_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/args.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace bench {

namespace {
// One madvise call holds the map's lock only for so long, so that the writer's own faults get in between.
constexpr uint64_t kPopulateStep = 2u << 20;
constexpr uint64_t kPage = 4096;
// What the writer takes unprepared when the helper has fallen behind.
constexpr uint64_t kTaken = 4u << 20;
// Folios of this size are found on the free lists of any machine, and are large enough that there are few of
// them.
constexpr uint64_t kZerosPiece = 64 << 10;
}  // namespace

FloorSegment::FloorSegment(const std::string& file, uint64_t bytes, bool map_it)
    : path(file), capacity(bytes) {
  fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) Die("cannot create " + path);
#if defined(__linux__)
  if (fallocate(fd, map_it ? 0 : FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0) {
    Die("cannot reserve blocks for " + path);
  }
#else
  if (map_it && ftruncate(fd, static_cast<off_t>(bytes)) != 0) Die("cannot size " + path);
#endif
  if (!map_it) return;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) Die("cannot map " + path);
  map = static_cast<uint8_t*>(at);
}

FloorSegment::~FloorSegment() {
  Unmap();
  if (fd >= 0) close(fd);
}

void FloorSegment::Unmap() {
  if (map != nullptr) munmap(map, capacity);
  map = nullptr;
}

void PopulateForWrite(uint8_t* map, uint64_t from, uint64_t to) {
  from &= ~(kPage - 1);
  for (; from < to; from += kPopulateStep) {
    const uint64_t bytes = std::min(kPopulateStep, to - from);
    if (madvise(map + from, bytes, MADV_POPULATE_WRITE) == 0) continue;
    // Adding nothing is a write that leaves what another thread has put there.
    for (uint64_t p = from; p < from + bytes; p += kPage) {
      __atomic_fetch_add(map + p, 0, __ATOMIC_RELAXED);
    }
  }
}

void PreparePages(int fd, uint8_t* map, uint64_t from, uint64_t to) {
  static const uint8_t zeros[kZerosPiece] = {};
  for (uint64_t at = from; at < to; at += kZerosPiece) {
    const uint64_t piece = std::min<uint64_t>(kZerosPiece, to - at);
    if (pwrite(fd, zeros, piece, static_cast<off_t>(at)) != static_cast<ssize_t>(piece)) Die("pwrite failed");
  }
  PopulateForWrite(map, from, to);
}

MappedLog::MappedLog(LogOptions options) : options_(std::move(options)) {
  helper_ = std::thread([this] { Help(); });
  Roll();
}

MappedLog::~MappedLog() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  helper_.join();
}

void MappedLog::Roll() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Not from under the helper's hands.
  wake_.wait(lock, [this] {
    return next_ != nullptr && (active_ == nullptr || active_->claimed == active_->prepared);
  });
  if (options_.keep != 0 && segments_.size() > options_.keep) {
    old_.push_back(std::move(segments_.front()));
    segments_.erase(segments_.begin());
    if (first_unforced_ > 0) first_unforced_--;
  }
  if (active_ != nullptr) full_.push_back(active_);
  segments_.push_back(std::move(next_));
  active_ = segments_.back().get();
  active_->base_offset = next_offset_;
  usable_ = 0;
  end_seen_ = 0;
  wake_.notify_all();
}

void MappedLog::TakeRoom(uint64_t bytes) {
  std::unique_lock<std::mutex> lock(mutex_);
  FloorSegment& segment = *active_;
  const uint64_t needed = segment.end + bytes;
  end_seen_ = segment.end;
  while (segment.prepared < needed) {
    if (segment.claimed == segment.prepared) {
      segment.claimed = std::min(segment.capacity, segment.claimed + kTaken);
      segment.prepared = segment.claimed;
    } else {
      wake_.wait(lock);
    }
  }
  // Back at least this often, so that the helper sees the end.
  usable_ = std::min(segment.prepared, std::max(needed, segment.end + kPopulateStep));
  wake_.notify_all();
}

FloorSegment* MappedLog::Wanted() {
  if (active_ == nullptr || !options_.mapped || !options_.prepared) return nullptr;
  const uint64_t reach = end_seen_ + options_.ahead;
  if (active_->claimed < active_->capacity) return active_->claimed < reach ? active_ : nullptr;
  const bool next =
      next_ != nullptr && next_->claimed < next_->capacity && active_->capacity + next_->claimed < reach;
  return next ? next_.get() : nullptr;
}

void MappedLog::Help() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    if (next_ == nullptr) {
      const std::string path = options_.directory + "/" + std::to_string(made_++) + ".log";
      lock.unlock();
      auto made = std::make_unique<FloorSegment>(path, options_.segment_bytes, options_.mapped);
      if (!options_.mapped || !options_.prepared) made->prepared = made->claimed = made->capacity;
      lock.lock();
      next_ = std::move(made);
      wake_.notify_all();
      continue;
    }
    if (FloorSegment* wanted = Wanted()) {
      const uint64_t from = wanted->claimed;
      wanted->claimed = std::min(wanted->capacity, from + kPopulateStep);
      lock.unlock();
      PreparePages(wanted->fd, wanted->map, from, wanted->claimed);
      lock.lock();
      wanted->prepared = wanted->claimed;
      wake_.notify_all();
      continue;
    }
    if (!full_.empty()) {
      FloorSegment* full = full_.back();
      full_.pop_back();
      lock.unlock();
      if (options_.force_full && fdatasync(full->fd) != 0) Die("fdatasync failed");
      full->Unmap();
      lock.lock();
      continue;
    }
    if (!old_.empty()) {
      std::unique_ptr<FloorSegment> old = std::move(old_.back());
      old_.pop_back();
      lock.unlock();
      unlink(old->path.c_str());
      old.reset();
      lock.lock();
      continue;
    }
    wake_.wait(lock);
  }
}

const FloorSegment& MappedLog::Find(uint64_t offset) const {
  const auto after = std::upper_bound(
      segments_.begin(), segments_.end(), offset,
      [](uint64_t wanted, const std::unique_ptr<FloorSegment>& s) { return wanted < s->base_offset; });
  return **(after - 1);
}

std::vector<int> MappedLog::TakeUnforced() {
  std::vector<int> descriptors;
  for (size_t i = first_unforced_; i < segments_.size(); i++) descriptors.push_back(segments_[i]->fd);
  first_unforced_ = segments_.size() - 1;
  return descriptors;
}

}  // namespace bench
