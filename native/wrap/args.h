// Arguments out of JavaScript, each checked for type and range. A function that returns false has thrown.
#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"

namespace millrace {

constexpr std::size_t kArgsMax = 8;

/** The call's arguments; missing ones are undefined. */
struct Args {
  Args(napi_env env, napi_callback_info info);
  napi_value operator[](std::size_t index) const { return values[index]; }

  napi_env env;
  napi_value self = nullptr;
  napi_value values[kArgsMax];
};

struct Bytes {
  std::uint8_t* data = nullptr;
  std::size_t count = 0;
};

bool ReadInteger(napi_env env, napi_value value, const char* name, std::int64_t min, std::int64_t max,
                 std::int64_t* out);
bool ReadUint32(napi_env env, napi_value value, const char* name, std::uint32_t min, std::uint32_t max,
                std::uint32_t* out);
bool ReadBool(napi_env env, napi_value value, const char* name, bool* out);
/** Not empty, without a NUL. */
bool ReadPath(napi_env env, napi_value value, const char* name, std::string* out);
/** A Uint8Array (a Buffer is one). A detached one is refused. Valid until JavaScript runs again. */
bool ReadBytes(napi_env env, napi_value value, const char* name, Bytes* out);
/** An Int32Array or Uint32Array, as `type` says. `count` is in elements. */
bool ReadWords(napi_env env, napi_value value, const char* name, napi_typedarray_type type, void** data,
               std::size_t* count);
/** A property of an options object. Undefined when it is not there. */
bool ReadObject(napi_env env, napi_value value, const char* name);
napi_value GetProperty(napi_env env, napi_value object, const char* name);
bool IsUndefined(napi_env env, napi_value value);

/** Positions and sizes in a file that JavaScript can hold: 2^53 − 1. */
constexpr std::int64_t kPositionMax = (std::int64_t{1} << 53) - 1;

void ThrowType(napi_env env, const std::string& message);
void ThrowRange(napi_env env, const std::string& message);
void ThrowClosed(napi_env env, const std::string& message);
/** `code`, `errno` (negative, as Node has it), `syscall` and `path`. */
napi_value MakeError(napi_env env, const SysError& error);

napi_value Undefined(napi_env env);
napi_value Number(napi_env env, double value);
napi_value Boolean(napi_env env, bool value);
napi_value String(napi_env env, const std::string& value);
void SetProperty(napi_env env, napi_value object, const char* name, napi_value value);
void SetFunction(napi_env env, napi_value object, const char* name, napi_callback callback);

}  // namespace millrace
