// The list of what storage exports.

#include "wrap/exports.h"

namespace millrace {

void ExportStorage(Napi::Env, Napi::Object) {}

}  // namespace millrace
