// NativeSegmentWriter: the writing end of an active segment, as JavaScript holds it.
#pragma once

#include <napi.h>

namespace millrace {

void DefineWriterClass(napi_env env);
/** `createSegmentWriter(options)` and `openSegmentWriter(options & { end })`. */
napi_value CreateSegmentWriter(napi_env env, napi_callback_info info);
napi_value OpenSegmentWriter(napi_env env, napi_callback_info info);

}  // namespace millrace
