// Giving up a reference to a file on the event loop. Closing the last descriptor of a file that has been
// removed frees its blocks and its cached pages: 128 MiB took 30 to 60 ms here, in which nobody was served. A
// worker does that.
#pragma once

#include "core/file.h"
#include "core/worker_pool.h"

namespace millrace {

void LetGo(FilePtr file, WorkerPool& pool);

}  // namespace millrace
