// How the rest of the addon gets at the file behind a NativeFile object, without knowing the class. Defined
// beside it.
#pragma once

#include <napi.h>

#include "core/file.h"

namespace millrace {

/** Null when `value` is not a NativeFile or was closed. The caller's copy keeps the descriptor open. */
FilePtr FileFromValue(napi_env env, napi_value value);

}  // namespace millrace
