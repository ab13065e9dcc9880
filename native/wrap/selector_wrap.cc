// Selector: the JavaScript class. Checks arguments and hands over; no logic. After the end every call is
// without effect, as callers that come late (a timer, a completion) cannot know.

#include <napi.h>

#include "wrap/args.h"
#include "wrap/exports.h"
#include "wrap/file_ref.h"
#include "wrap/selector_loop.h"

namespace millrace {

namespace {

constexpr napi_type_tag kSelectorTag = {0x6d696c6c72616365, 0x73656c6563746f72};
using LoopPtr = std::shared_ptr<SelectorLoop>;

SelectorLoop* LoopFrom(const Args& args) {
  bool same = false;
  void* native = nullptr;
  if (napi_check_object_type_tag(args.env, args.self, &kSelectorTag, &same) != napi_ok || !same ||
      napi_unwrap(args.env, args.self, &native) != napi_ok) {
    ThrowType(args.env, "this is no Selector");
    return nullptr;
  }
  return static_cast<LoopPtr*>(native)->get();
}

/** Null when there is nothing to call: it has ended, or this has thrown. */
Selector* SelectorOf(napi_env env, SelectorLoop* loop) {
  if (loop == nullptr || loop->selector() == nullptr || loop->ArraysStillThere()) {
    return loop == nullptr ? nullptr : loop->selector();
  }
  ThrowType(env, "an array of the selector was detached or resized");
  return nullptr;
}

napi_value Construct(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  napi_value target = nullptr;
  napi_get_new_target(env, info, &target);
  if (target == nullptr) {
    ThrowType(env, "Selector is a class: use new");
    return nullptr;
  }
  LoopPtr loop = SelectorLoop::Start(env, args.self, args[0], args[1]);
  if (loop == nullptr) return nullptr;
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<LoopPtr*>(data); };
  napi_wrap(env, args.self, new LoopPtr(std::move(loop)), finalize, nullptr, nullptr);
  napi_type_tag_object(env, args.self, &kSelectorTag);
  return args.self;
}

napi_value Listen(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  std::string host;
  std::int64_t port = 0;
  if (loop == nullptr || !ReadPath(env, args[0], "host", &host) ||
      !ReadInteger(env, args[1], "port", 0, 65535, &port)) {
    return nullptr;
  }
  Selector* const selector = loop->selector();
  if (selector == nullptr) {
    ThrowClosed(env, "the selector is closed");
    return nullptr;
  }
  int bound = 0;
  if (SysError error = selector->Listen(host, static_cast<int>(port), &bound)) {
    napi_throw(env, MakeError(env, error));
    return nullptr;
  }
  loop->Reschedule();
  return Number(env, bound);
}

napi_value ListenUnix(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  std::string path;
  if (loop == nullptr || !ReadPath(env, args[0], "path", &path)) return nullptr;
  Selector* const selector = loop->selector();
  if (selector == nullptr) {
    ThrowClosed(env, "the selector is closed");
    return nullptr;
  }
  if (SysError error = selector->ListenUnix(path)) {
    napi_throw(env, MakeError(env, error));
    return nullptr;
  }
  loop->Reschedule();
  return nullptr;
}

napi_value StopListening(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  if (loop == nullptr || loop->selector() == nullptr) return nullptr;
  loop->selector()->StopListening();
  loop->Reschedule();
  return nullptr;
}

/** The files of a flush, by reference, so that their descriptors stay open until the last byte was sent. */
bool ReadFiles(napi_env env, napi_value value, std::vector<FilePtr>* files) {
  std::uint32_t count = 0;
  if (napi_get_array_length(env, value, &count) != napi_ok) {
    ThrowType(env, "files must be an array");
    return false;
  }
  for (std::uint32_t i = 0; i < count; i++) {
    napi_value element = nullptr;
    if (napi_get_element(env, value, i, &element) != napi_ok) return false;
    FilePtr file = FileFromValue(env, element);
    if (file == nullptr) {
      ThrowType(env, "files[" + std::to_string(i) + "] is not an open NativeFile");
      return false;
    }
    files->push_back(std::move(file));
  }
  return true;
}

napi_value Flush(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  std::uint32_t rows = 0;
  if (loop == nullptr || loop->selector() == nullptr ||
      !ReadUint32(env, args[0], "rows", 0, loop->selector()->flushes_max(), &rows)) {
    return nullptr;
  }
  std::vector<FilePtr>& files = loop->files();
  // The files come first: reading an element can run JavaScript (a getter), which could detach an array or
  // end the selector.
  Selector* const selector = ReadFiles(env, args[1], &files) ? SelectorOf(env, loop) : nullptr;
  if (selector != nullptr) {
    const std::int64_t bad = selector->CheckFlush(rows, files.size());
    if (bad < 0) {
      selector->Flush(rows, files);
      loop->Reschedule();
    } else {
      ThrowRange(env, "row " + std::to_string(bad) + " of the flush table is out of bounds");
    }
  }
  files.clear();
  return nullptr;
}

napi_value Wake(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  if (SelectorLoop* const loop = LoopFrom(args)) loop->RequestTurn();
  return nullptr;
}

napi_value Close(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  std::uint32_t connection = 0;
  bool now = false;
  if (loop == nullptr || !ReadUint32(env, args[0], "connection", 0, INT32_MAX, &connection) ||
      !ReadBool(env, args[1], "now", &now)) {
    return nullptr;
  }
  if (Selector* const selector = SelectorOf(env, loop)) {
    selector->Close(static_cast<std::int32_t>(connection), now);
    loop->Reschedule();
  }
  return nullptr;
}

napi_value Finish(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  std::int64_t linger_ms = 0;
  if (loop == nullptr || !ReadInteger(env, args[0], "lingerMs", 0, INT32_MAX, &linger_ms)) return nullptr;
  // One that has ended resolves at once.
  if (loop->selector() != nullptr && SelectorOf(env, loop) == nullptr) return nullptr;
  return loop->Finish(linger_ms);
}

napi_value Sweep(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  if (Selector* const selector = SelectorOf(env, loop)) {
    selector->Sweep();
    loop->Reschedule();
  }
  return nullptr;
}

napi_value QueuedBytes(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  std::uint32_t connection = 0;
  if (loop == nullptr || !ReadUint32(env, args[0], "connection", 0, INT32_MAX, &connection)) return nullptr;
  if (loop->selector() == nullptr) return Number(env, 0);
  return Number(env,
                static_cast<double>(loop->selector()->QueuedBytes(static_cast<std::int32_t>(connection))));
}

napi_value TakeFileFailures(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  SelectorLoop* const loop = LoopFrom(args);
  if (loop == nullptr) return nullptr;
  napi_value list = nullptr;
  napi_create_array(env, &list);
  if (loop->selector() == nullptr) return list;
  std::uint32_t at = 0;
  for (const SliceFailure& failure : loop->selector()->TakeFileFailures()) {
    const bool ended = failure.error == SliceFailure::kFileEnded;
    napi_value one = nullptr;
    napi_value closes = nullptr;
    napi_create_object(env, &one);
    napi_get_boolean(env, failure.closes, &closes);
    SetProperty(env, one, "path", String(env, failure.path));
    SetProperty(env, one, "position", Number(env, static_cast<double>(failure.position)));
    SetProperty(env, one, "bytes", Number(env, static_cast<double>(failure.bytes)));
    SetProperty(env, one, "error",
                ended ? Undefined(env) : MakeError(env, {failure.error, "read", failure.path}));
    SetProperty(env, one, "closes", closes);
    napi_set_element(env, list, at++, one);
  }
  return list;
}

napi_value Destroy(napi_env env, napi_callback_info info) {
  const Args args(env, info);
  if (SelectorLoop* const loop = LoopFrom(args)) loop->End();
  return nullptr;
}

napi_property_descriptor Method(const char* name, napi_callback callback) {
  return {name, nullptr, callback, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

}  // namespace

void ExportSelector(Napi::Env env, Napi::Object exports) {
  const napi_property_descriptor methods[] = {
      Method("listen", Listen),
      Method("listenUnix", ListenUnix),
      Method("stopListening", StopListening),
      Method("flush", Flush),
      Method("wake", Wake),
      Method("close", Close),
      Method("finish", Finish),
      Method("sweep", Sweep),
      Method("queuedBytes", QueuedBytes),
      Method("takeFileFailures", TakeFileFailures),
      Method("destroy", Destroy),
  };
  napi_value constructor = nullptr;
  napi_define_class(env, "Selector", NAPI_AUTO_LENGTH, Construct, nullptr, sizeof methods / sizeof methods[0],
                    methods, &constructor);
  SetProperty(env, exports, "Selector", constructor);
}

}  // namespace millrace
