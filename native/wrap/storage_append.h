// `append` and `measureRegion`: the hot calls. Raw napi_*, and nothing is allocated for a row.
#pragma once

#include <napi.h>

namespace millrace {

napi_value Append(napi_env env, napi_callback_info info);
napi_value MeasureRegionCall(napi_env env, napi_callback_info info);

}  // namespace millrace
