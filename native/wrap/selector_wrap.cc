// Selector: the JavaScript class over core/selector. Checks arguments and hands over; no logic.

#include <napi.h>

#include "wrap/exports.h"

namespace millrace {
namespace {

class SelectorWrap : public Napi::ObjectWrap<SelectorWrap> {
 public:
  static Napi::Function Define(Napi::Env env) { return DefineClass(env, "Selector", {}); }
  explicit SelectorWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<SelectorWrap>(info) {
    Napi::Error::New(info.Env(), "the selector is not part of this build").ThrowAsJavaScriptException();
  }
};

}  // namespace

void ExportSelector(Napi::Env env, Napi::Object exports) { exports.Set("Selector", SelectorWrap::Define(env)); }

}  // namespace millrace
