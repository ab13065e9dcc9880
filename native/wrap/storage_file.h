// NativeFile: an open file of a partition, as JavaScript holds it.
#pragma once

#include <napi.h>

#include "core/file.h"

namespace millrace {

void DefineFileClass(napi_env env);
/** Null when JavaScript cannot run any more. */
napi_value WrapFile(napi_env env, FilePtr file);

}  // namespace millrace
