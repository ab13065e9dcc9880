// `walkRecords`: what the client asks of the addon.
#pragma once

#include <napi.h>

namespace millrace {

void ExportRecordWalk(napi_env env, napi_value exports);

}  // namespace millrace
