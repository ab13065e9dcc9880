// Reads a segment from front to back and says where its records end: structure and, in a format that has
// them, every sum. It decides nothing: whether the end is a torn tail or damage is told from the checkpoint,
// which it does not know.
#pragma once

#include <cstdint>
#include <vector>

#include "core/abi.h"
#include "core/record_format.h"

namespace millrace {

struct ScanResult {
  ScanStop stop = ScanStop::kEnd;
  std::uint64_t records = 0;
  std::int64_t end = 0;
  std::int64_t tail_bytes = 0;
  std::vector<std::uint32_t> index;
};

/** Scans [from, limit), or to the end of the file if that is earlier. 0, or the errno of a read. */
int ScanSegment(int fd, const RecordFormat& format, std::int64_t from, std::int64_t limit,
                std::uint32_t index_interval, ScanResult* result);

}  // namespace millrace
