// Operations on names, the lock, and opening files.
#pragma once

#include <napi.h>

namespace millrace {

void ExportFileSystem(napi_env env, napi_value exports);

}  // namespace millrace
