// What a connection has still to send, in order: chunks of bytes that were copied, and slices of files that
// were not. A slice holds its file, so removing a segment never disturbs it. Empty it takes three words. It
// must not know sockets.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
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

    bool is_slice() const { return file != nullptr; }
    const std::uint8_t* data() const { return bytes.get() + begin; }
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
  void AppendBytes(const std::uint8_t* data, std::size_t count);
  void AppendSlice(FilePtr file, off_t position, std::size_t count);
  /** `count` bytes of the front are done; at most what it has left. */
  void Consume(std::size_t count);
  void Clear();
  /** Hands over the files of the slices that wait, before `Clear`. */
  template <typename Take>
  void TakeFiles(Take&& take) {
    for (Chunk* chunk = head_.get(); chunk != nullptr; chunk = chunk->next.get()) {
      if (chunk->is_slice()) take(std::move(chunk->file));
    }
  }

 private:
  Chunk& Push(std::size_t capacity);

  std::unique_ptr<Chunk> head_;
  Chunk* tail_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t held_ = 0;
};

}  // namespace millrace
