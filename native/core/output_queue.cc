// How the queue grows: a list of chunks, the last one filled first.

#include "core/output_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace {

namespace {
// A peer that is a little slow costs little; one that is very slow gets larger chunks, so that a send is
// worth its call. Only behind other bytes, though: between slices each chunk holds one head and gets no more.
constexpr std::size_t kChunkSmallest = 512;
constexpr std::size_t kChunkLargest = 256 * 1024;
}  // namespace

OutputQueue::Chunk& OutputQueue::Push(std::size_t capacity, std::size_t instead) {
  auto chunk = std::make_unique<Chunk>();
  chunk->capacity = capacity;
  chunk->instead = instead;
  held_ += Held(*chunk);
  Chunk* const added = chunk.get();
  (tail_ != nullptr ? tail_->next : head_) = std::move(chunk);
  tail_ = added;
  return *added;
}

void OutputQueue::AppendBytes(const std::uint8_t* data, std::size_t count, bool continues) {
  while (count > 0) {
    const bool full = tail_ == nullptr || tail_->is_slice() || tail_->begin + tail_->left == tail_->capacity;
    if (full || tail_->continues != continues) {
      const bool behind_bytes = tail_ != nullptr && !tail_->is_slice();
      const std::size_t wanted = behind_bytes ? std::max(count, bytes_) : count;
      Chunk& chunk = Push(std::clamp(wanted, kChunkSmallest, kChunkLargest));
      chunk.bytes.reset(new std::uint8_t[chunk.capacity]);  // make_unique would fill it with zeros first
      chunk.continues = continues;
    }
    const std::size_t used = tail_->begin + tail_->left;
    const std::size_t part = std::min(count, tail_->capacity - used);
    std::memcpy(tail_->bytes.get() + used, data, part);
    tail_->left += part;
    bytes_ += part;
    data += part;
    count -= part;
  }
}

void OutputQueue::AppendHead(const std::uint8_t* data, std::size_t count, std::size_t instead) {
  Chunk& chunk = Push(count, instead);
  chunk.bytes.reset(new std::uint8_t[count + instead]);
  std::memcpy(chunk.bytes.get(), data, count + instead);
  chunk.left = count;
  bytes_ += count;
}

void OutputQueue::AppendSlice(FilePtr file, off_t position, std::size_t count) {
  if (count == 0) return;
  Chunk& chunk = Push(0);
  chunk.file = std::move(file);
  chunk.position = position;
  chunk.left = count;
  chunk.continues = true;
}

void OutputQueue::DropFront() {
  if (!head_->is_slice()) bytes_ -= head_->left;
  held_ -= Held(*head_);
  head_ = std::move(head_->next);
  if (head_ == nullptr) tail_ = nullptr;
}

void OutputQueue::Consume(std::size_t count) {
  Chunk& chunk = *head_;
  chunk.left -= count;
  if (chunk.is_slice()) {
    chunk.position += static_cast<off_t>(count);
  } else {
    chunk.begin += count;
    bytes_ -= count;
  }
  if (chunk.left == 0) DropFront();
}

void OutputQueue::Clear() {
  // One by one: the chain of owners would otherwise be destroyed by recursion, as deep as the queue is long.
  while (head_ != nullptr) head_ = std::move(head_->next);
  tail_ = nullptr;
  bytes_ = 0;
  held_ = 0;
}

}  // namespace millrace
