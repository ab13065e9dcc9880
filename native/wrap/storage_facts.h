// What the addon is and what it has done: platform, checksums, numbers of the boundary, counters, sizes of
// the pools.
#pragma once

#include <napi.h>

namespace millrace {

void ExportFacts(napi_env env, napi_value exports);

}  // namespace millrace
