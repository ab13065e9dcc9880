// Bytes that wait: appended behind, taken from the front. Grows with what is appended, never by what is
// announced, and gives memory back as soon as it holds little or nothing. What it takes is `capacity`, and
// bounds go by that: a few bytes may lie at the end of many that were consumed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace millrace {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ~ByteBuffer() { std::free(memory_); }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  const std::uint8_t* data() const { return memory_ + begin_; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  std::size_t capacity() const { return capacity_; }

  static constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

  /** `all`: so much will be held in all, as far as anybody knows. More is not taken in advance. */
  void Append(const std::uint8_t* bytes, std::size_t count, std::size_t all = kAnySize) {
    if (count == 0) return;
    std::memcpy(Room(count, all), bytes, count);
    end_ += count;
  }

  /** Room for `count` bytes behind the last one. They count after Commit. */
  std::uint8_t* Room(std::size_t count, std::size_t all = kAnySize) {
    if (capacity_ - end_ < count) MakeRoom(count, all);
    return memory_ + end_;
  }
  void Commit(std::size_t count) { end_ += count; }

  void Consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) {
      begin_ = end_ = 0;
      if (capacity_ > kKeptEmpty) Release();
    } else if (capacity_ > kKeptEmpty && size() < capacity_ / kShrinkBelow) {
      Shrink();
    }
  }

  /** Gives the memory back. */
  void Release() {
    std::free(memory_);
    memory_ = nullptr;
    begin_ = end_ = capacity_ = 0;
  }

 private:
  /** Paid for by what was consumed: at least as much again must come before there is another one. */
  void Shrink() {
    ByteBuffer smaller;
    smaller.Append(data(), size());
    std::swap(memory_, smaller.memory_);
    std::swap(begin_, smaller.begin_);
    std::swap(end_, smaller.end_);
    std::swap(capacity_, smaller.capacity_);
  }

  void MakeRoom(std::size_t count, std::size_t all) {
    const std::size_t held = size();
    // Moving to the front is paid for by what was consumed before, so each byte is moved a bounded number of
    // times.
    if (begin_ >= held && capacity_ - held >= count) {
      if (held > 0) std::memcpy(memory_, memory_ + begin_, held);
    } else {
      if (begin_ > 0) std::memmove(memory_, memory_ + begin_, held);
      capacity_ = std::max(held + count, std::min(std::max(2 * held, kSmallest), all));
      memory_ = static_cast<std::uint8_t*>(std::realloc(memory_, capacity_));  // large ones move by remapping
      if (memory_ == nullptr) std::abort();  // as operator new does here: there are no exceptions to throw
    }
    begin_ = 0;
    end_ = held;
  }

  static constexpr std::size_t kSmallest = 256;
  /** Buffers that are filled and emptied all the time keep this much. */
  static constexpr std::size_t kKeptEmpty = 16 * 1024;
  /** With less than this part of its memory in use it gets a smaller one. */
  static constexpr std::size_t kShrinkBelow = 4;

  std::uint8_t* memory_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace millrace
