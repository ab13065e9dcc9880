// The groups of exports, one for each part of the addon.
#pragma once

#include <napi.h>

namespace millrace {

/** False when it has thrown. */
bool InitEnv(Napi::Env env);
/** Files, segments, append, lock, facts: wrap/storage_*.cc. */
void ExportStorage(Napi::Env env, Napi::Object exports);
/** The selector: wrap/selector_wrap.cc. */
void ExportSelector(Napi::Env env, Napi::Object exports);

}  // namespace millrace
