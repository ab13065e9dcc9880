// What a connection has still to send, in order: chunks of bytes that were copied, and slices of files that
// were not. A slice holds its file, so removing a segment never disturbs it. Empty it takes three words. It
// must not know sockets.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "core/file.h"

namespace millrace {

class OutputQueue {
 public:
  struct Chunk {
    std::unique_ptr<Chunk> next;
    FilePtr file;  // null: bytes
    off_t position = 0;
    /** What is left to send of it. */
    std::size_t left = 0;
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t begin = 0;
    std::size_t capacity = 0;
    /** Bytes behind `capacity`, to be sent instead of the answer that begins here. 0: there is nothing else.
     */
    std::size_t instead = 0;
    /** Belongs to the same answer as what stands before it. */
    bool continues = false;

    bool is_slice() const { return file != nullptr; }
    const std::uint8_t* data() const { return bytes.get() + begin; }
    /** Nothing of the answer that begins here was sent yet, and there is something else to send. */
    bool is_replaceable() const { return instead > 0 && begin == 0; }
  };

  OutputQueue() = default;
  ~OutputQueue() { Clear(); }
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  bool empty() const { return head_ == nullptr; }
  /** Bytes in memory that wait to be sent. Slices do not count: their bytes are in no memory of ours. */
  std::size_t bytes() const { return bytes_; }
  /**
   * What the queue itself takes in memory: whole chunks and the entries for slices. Bounds go by this: a peer
   * that asks for slices and reads none would otherwise hold much more than the heads that are counted.
   */
  std::size_t held() const { return held_; }
  /** The first chunk. Not empty. */
  Chunk& front() { return *head_; }

  /** Copies. */
  void AppendBytes(const std::uint8_t* data, std::size_t count, bool continues = false);
  /** The beginning of an answer, up to its first slice, with what to send instead behind it. */
  void AppendHead(const std::uint8_t* data, std::size_t count, std::size_t instead);
  void AppendSlice(FilePtr file, off_t position, std::size_t count);
  /** `count` bytes of the front are done; at most what it has left. */
  void Consume(std::size_t count);
  void Clear();
  /**
   * The answer that begins at the front, which is replaceable, gives way to what was to be sent instead.
   * Hands over its files. True: the queue ended with it, so that more of it may still come.
   */
  template <typename Take>
  bool ReplaceFront(Take&& take) {
    auto other = std::make_unique<Chunk>();
    other->capacity = other->left = head_->instead;
    other->bytes.reset(new std::uint8_t[other->capacity]);
    std::memcpy(other->bytes.get(), head_->bytes.get() + head_->capacity, other->capacity);
    do {
      FilePtr file = head_->file;
      DropFront();
      if (file != nullptr) take(std::move(file));
    } while (head_ != nullptr && head_->continues);
    const bool was_last = head_ == nullptr;
    held_ += Held(*other);
    bytes_ += other->left;
    other->next = std::move(head_);
    head_ = std::move(other);
    if (was_last) tail_ = head_.get();
    return was_last;
  }
  /** Hands over the files of the slices that wait, before `Clear`. */
  template <typename Take>
  void TakeFiles(Take&& take) {
    for (Chunk* chunk = head_.get(); chunk != nullptr; chunk = chunk->next.get()) {
      if (chunk->is_slice()) take(std::move(chunk->file));
    }
  }

 private:
  static std::size_t Held(const Chunk& chunk) { return sizeof(Chunk) + chunk.capacity + chunk.instead; }
  Chunk& Push(std::size_t capacity, std::size_t instead = 0);
  /** Whatever it has left is not sent. */
  void DropFront();

  std::unique_ptr<Chunk> head_;
  Chunk* tail_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t held_ = 0;
};

}  // namespace millrace
