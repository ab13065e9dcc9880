// Node's own codes for wrong arguments, so that callers meet nothing new. On the way of an append no message
// is built unless something is wrong.

#include "wrap/args.h"

#include <uv.h>

#include <cmath>

namespace millrace {
namespace {

constexpr const char* kWrongType = "ERR_INVALID_ARG_TYPE";
constexpr const char* kWrongValue = "ERR_INVALID_ARG_VALUE";
constexpr const char* kOutOfRange = "ERR_OUT_OF_RANGE";
constexpr const char* kClosed = "ERR_CLOSED";

std::string Text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

/** An array of length 0 may be one whose memory was handed to somebody else. */
bool IsDetached(napi_env env, napi_value array) {
  napi_value buffer = nullptr;
  bool detached = false;
  napi_get_typedarray_info(env, array, nullptr, nullptr, nullptr, &buffer, nullptr);
  return buffer != nullptr && napi_is_detached_arraybuffer(env, buffer, &detached) == napi_ok && detached;
}

bool ReadTypedArray(napi_env env, napi_value value, const char* name, napi_typedarray_type type,
                    const char* expected, void** data, std::size_t* count) {
  napi_typedarray_type actual;
  if (napi_get_typedarray_info(env, value, &actual, count, data, nullptr, nullptr) != napi_ok ||
      actual != type) {
    ThrowType(env, std::string(name) + " must be " + expected);
    return false;
  }
  if (*count == 0 && IsDetached(env, value)) {
    ThrowType(env, std::string(name) + " is detached");
    return false;
  }
  return true;
}

}  // namespace

Args::Args(napi_env env, napi_callback_info info) : env(env) {
  std::size_t count = kArgsMax;
  napi_get_cb_info(env, info, &count, values, &self, nullptr);
}

bool ReadInteger(napi_env env, napi_value value, const char* name, std::int64_t min, std::int64_t max,
                 std::int64_t* out) {
  double number;
  if (napi_get_value_double(env, value, &number) != napi_ok) {
    ThrowType(env, std::string(name) + " must be a number");
    return false;
  }
  // NaN fails each comparison, so it ends here, too.
  const bool inside = number >= static_cast<double>(min) && number <= static_cast<double>(max);
  if (!inside || std::trunc(number) != number) {
    ThrowRange(env, std::string(name) + " must be an integer from " + Text(static_cast<double>(min)) +
                        " to " + Text(static_cast<double>(max)) + ", got " + Text(number));
    return false;
  }
  *out = static_cast<std::int64_t>(number);
  return true;
}

bool ReadUint32(napi_env env, napi_value value, const char* name, std::uint32_t min, std::uint32_t max,
                std::uint32_t* out) {
  std::int64_t number;
  if (!ReadInteger(env, value, name, min, max, &number)) return false;
  *out = static_cast<std::uint32_t>(number);
  return true;
}

bool ReadBool(napi_env env, napi_value value, const char* name, bool* out) {
  if (napi_get_value_bool(env, value, out) == napi_ok) return true;
  ThrowType(env, std::string(name) + " must be a boolean");
  return false;
}

bool ReadPath(napi_env env, napi_value value, const char* name, std::string* out) {
  std::size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) {
    ThrowType(env, std::string(name) + " must be a string");
    return false;
  }
  out->resize(length + 1);
  napi_get_value_string_utf8(env, value, &(*out)[0], out->size(), &length);
  out->resize(length);
  // A NUL would cut the name where the system reads it.
  if (length > 0 && out->find('\0') == std::string::npos) return true;
  napi_throw_type_error(env, kWrongValue,
                        (std::string(name) + " must be a path: not empty, without a NUL").c_str());
  return false;
}

bool ReadBytes(napi_env env, napi_value value, const char* name, Bytes* out) {
  void* data = nullptr;
  if (!ReadTypedArray(env, value, name, napi_uint8_array, "a Uint8Array", &data, &out->count)) return false;
  out->data = static_cast<std::uint8_t*>(data);
  return true;
}

bool ReadWords(napi_env env, napi_value value, const char* name, napi_typedarray_type type, void** data,
               std::size_t* count) {
  const char* expected = type == napi_int32_array ? "an Int32Array" : "a Uint32Array";
  return ReadTypedArray(env, value, name, type, expected, data, count);
}

bool ReadObject(napi_env env, napi_value value, const char* name) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  if (type == napi_object) return true;
  ThrowType(env, std::string(name) + " must be an object");
  return false;
}

napi_value GetProperty(napi_env env, napi_value object, const char* name) {
  napi_value value = nullptr;
  // A getter may throw; the exception is left pending and undefined fails the check that follows.
  if (napi_get_named_property(env, object, name, &value) != napi_ok) return Undefined(env);
  return value;
}

bool IsUndefined(napi_env env, napi_value value) {
  napi_valuetype type = napi_undefined;
  napi_typeof(env, value, &type);
  return type == napi_undefined;
}

void ThrowType(napi_env env, const std::string& message) {
  napi_throw_type_error(env, kWrongType, message.c_str());
}
void ThrowRange(napi_env env, const std::string& message) {
  napi_throw_range_error(env, kOutOfRange, message.c_str());
}
void ThrowClosed(napi_env env, const std::string& message) {
  napi_throw_error(env, kClosed, message.c_str());
}

napi_value MakeError(napi_env env, const SysError& error) {
  char name[32];
  uv_err_name_r(-error.code, name, sizeof name);
  char reason[128];
  uv_strerror_r(-error.code, reason, sizeof reason);
  std::string message = std::string(name) + ": " + reason + ", " + error.syscall;
  if (!error.path.empty()) message += " '" + error.path + "'";
  napi_value value = nullptr;
  napi_create_error(env, String(env, name), String(env, message), &value);
  SetProperty(env, value, "errno", Number(env, -error.code));
  SetProperty(env, value, "syscall", String(env, error.syscall));
  if (!error.path.empty()) SetProperty(env, value, "path", String(env, error.path));
  return value;
}

napi_value Undefined(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

napi_value Number(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

napi_value Boolean(napi_env env, bool boolean) {
  napi_value value = nullptr;
  napi_get_boolean(env, boolean, &value);
  return value;
}

napi_value String(napi_env env, const std::string& text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text.data(), text.size(), &value);
  return value;
}

void SetProperty(napi_env env, napi_value object, const char* name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

void SetFunction(napi_env env, napi_value object, const char* name, napi_callback callback) {
  napi_value function = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
  SetProperty(env, object, name, function);
}

}  // namespace millrace
