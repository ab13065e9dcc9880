// What JavaScript passes to the Selector's constructor: options, and the typed arrays that both sides read
// and write.
#pragma once

#include <napi.h>

#include "core/selector.h"

namespace millrace {

/**
 * A typed array that native code keeps a pointer into. The reference keeps the object alive, but not its
 * memory: a transfer to another thread detaches it. So it is compared before each use.
 */
struct PinnedArray {
  napi_ref reference = nullptr;
  void* data = nullptr;
  std::size_t length = 0;

  bool StillThere(napi_env env) const;
};

/** The order in which they are kept. */
enum PinnedIndex { kArena, kReplies, kFrames, kOpened, kClosed, kFlushes, kCounters, kPinnedCount };

struct SelectorSetup {
  SelectorOptions options{};
  SelectorTables tables{};
  PinnedArray pinned[kPinnedCount];

  /** False when it has thrown. Whatever was pinned is released by Unpin. */
  bool Read(napi_env env, napi_value value);
  void Unpin(napi_env env);
};

}  // namespace millrace
