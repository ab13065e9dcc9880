// Exports only. What an export does is in wrap/, how it does it in core/.

#include <napi.h>

#include "wrap/env.h"
#include "wrap/exports.h"

static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  if (!millrace::InitEnv(env)) return exports;
  millrace::ExportStorage(env, exports);
  millrace::ExportSelector(env, exports);
  return exports;
}

NODE_API_MODULE(millrace, Init)
