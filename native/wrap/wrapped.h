// Native state behind a JavaScript object, found again only if the object is really of that class: methods
// can be called with any `this`.
#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>
#include <string>

#include "wrap/args.h"
#include "wrap/env.h"
#include "wrap/storage_env.h"

namespace millrace {

/** The constructor of a class whose objects only the addon makes. */
inline napi_value RefuseConstruction(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  if (EnvData::Get(env)->storage()->constructing) return args.self;
  ThrowType(env, "this class has no public constructor");
  return nullptr;
}

template <std::size_t kCount>
napi_ref DefineWrappedClass(napi_env env, const char* name,
                            const napi_property_descriptor (&properties)[kCount]) {
  napi_value constructor = nullptr;
  napi_ref reference = nullptr;
  napi_define_class(env, name, NAPI_AUTO_LENGTH, RefuseConstruction, nullptr, kCount, properties,
                    &constructor);
  napi_create_reference(env, constructor, 1, &reference);
  return reference;
}

inline napi_property_descriptor Method(const char* name, napi_callback callback) {
  return {name, nullptr, callback, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}
inline napi_property_descriptor Getter(const char* name, napi_callback callback) {
  return {name, nullptr, nullptr, callback, nullptr, nullptr, napi_enumerable, nullptr};
}

/** `Native` has `static constexpr napi_type_tag kTag`. Null when JavaScript cannot run any more. */
template <typename Native>
napi_value Wrap(napi_env env, napi_ref class_reference, std::unique_ptr<Native> native) {
  StorageEnv& storage = *EnvData::Get(env)->storage();
  napi_value constructor = nullptr;
  napi_value object = nullptr;
  napi_get_reference_value(env, class_reference, &constructor);
  storage.constructing = true;
  const napi_status made = napi_new_instance(env, constructor, 0, nullptr, &object);
  storage.constructing = false;
  if (made != napi_ok) return nullptr;
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<Native*>(data); };
  if (napi_wrap(env, object, native.get(), finalize, nullptr, nullptr) != napi_ok) return nullptr;
  (void)native.release();  // The object's from here on.
  napi_type_tag_object(env, object, &Native::kTag);
  return object;
}

/** Null, with nothing thrown, when `value` is something else. */
template <typename Native>
Native* TryUnwrap(napi_env env, napi_value value) {
  bool same = false;
  void* native = nullptr;
  if (napi_check_object_type_tag(env, value, &Native::kTag, &same) != napi_ok || !same) return nullptr;
  return napi_unwrap(env, value, &native) == napi_ok ? static_cast<Native*>(native) : nullptr;
}

/** Null when it has thrown. */
template <typename Native>
Native* Unwrap(napi_env env, napi_value value) {
  Native* native = TryUnwrap<Native>(env, value);
  if (native == nullptr) ThrowType(env, std::string("this is no ") + Native::kName);
  return native;
}

}  // namespace millrace
