// Collects what a group of batches looks like on disk and writes it with as few vectored writes as possible.
// Payloads that are long are written from where they lie; everything else is put together, with its sums, in
// one buffer.
#pragma once

#include <cstdint>

#include "core/segment_writer.h"

namespace millrace {

class Gather {
 public:
  Gather(int fd, off_t position, const RecordFormat& format, WriteScratch* scratch);

  /** 0, or the errno of a write that became due. */
  int Add(const Batch& batch);
  /** Writes what is left. 0, or the errno. */
  int Flush();

 private:
  int AddOneByOne(const Batch& batch);
  int MakeRoom(std::size_t bytes);
  void CloseRun();
  void Point(const void* at, std::size_t bytes);

  const int fd_;
  off_t position_;
  const RecordFormat& format_;
  WriteScratch* const scratch_;
  std::size_t pending_ = 0;    // Bytes in the parts.
  std::size_t used_ = 0;       // Of the buffer.
  std::size_t run_start_ = 0;  // What lies in the buffer from here on is in no part yet.
};

}  // namespace millrace
