// From record to record in a stored segment, by the length prefixes: how a reader gets from an index entry to
// its offset.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/record_format.h"

namespace millrace {

enum class WalkOutcome {
  kFound,
  /** The limit comes first, or what is there is no record. */
  kEnded,
  /** Only when not allowed to wait: pages are not in the cache. */
  kNotCached,
  /** errno says why. */
  kFailed,
};

struct WalkResult {
  WalkOutcome outcome;
  std::int64_t position;  // With kFound: behind the last of the records.
};

/**
 * Walks over `records` records from `from`, never beyond `limit`. With `wait` false it never waits for a
 * disk. `likely`: so many bytes they will take about, so that no more are read; 0: nobody knows.
 */
WalkResult WalkStored(int fd, const RecordFormat& format, std::int64_t from, std::uint64_t records,
                      std::int64_t limit, bool wait, std::int64_t likely = 0);

}  // namespace millrace
