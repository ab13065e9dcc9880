// Life and death of an environment's pools. The order at the end is what matters: first the pools (jobs that
// have not begun are dropped, running ones are waited for, so none of them touches a buffer or a handle that
// is gone), then the handle that brings results back, and only then is the environment told that we are done.
// A promise whose job was dropped is never settled: nobody is left to see it.

#include "wrap/env.h"

#include <dlfcn.h>

#include <mutex>

#include "wrap/exports.h"
#include "wrap/storage_env.h"

namespace millrace {

EnvData::EnvData(Napi::Env env) : env_(env), storage_(std::make_shared<StorageEnv>()) {
  storage_->env_data = this;
  napi_get_uv_event_loop(env_, &loop_);
  auto async = std::make_unique<uv_async_t>();
  if (uv_async_init(loop_, async.get(), OnWake) != 0) return;
  async_ = async.release();
  async_->data = this;
  uv_unref(reinterpret_cast<uv_handle_t*>(async_));
  completions_ = std::make_unique<CompletionQueue>([this] { uv_async_send(async_); });
  napi_value name;
  napi_create_string_utf8(env_, "millrace", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env_, nullptr, name, &context_);
  napi_add_async_cleanup_hook(env_, OnCleanup, this, &cleanup_);
}

EnvData::~EnvData() { storage_->env_data = nullptr; }

EnvData* EnvData::Get(napi_env env) {
  void* data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<EnvData*>(data);
}

void EnvData::OperationBegun() {
  if (operations_++ == 0) uv_ref(reinterpret_cast<uv_handle_t*>(async_));
}

void EnvData::OperationDone() {
  if (--operations_ == 0) uv_unref(reinterpret_cast<uv_handle_t*>(async_));
}

void EnvData::OnWake(uv_async_t* handle) {
  auto* self = static_cast<EnvData*>(handle->data);
  if (self->going_) return;
  napi_handle_scope handles = nullptr;
  napi_open_handle_scope(self->env_, &handles);
  napi_value resource;
  napi_create_object(self->env_, &resource);
  // Without a callback scope the promises would be settled, but what waits for them would run only after the
  // next event.
  napi_callback_scope scope = nullptr;
  napi_open_callback_scope(self->env_, resource, self->context_, &scope);
  self->completions_->Drain();
  if (scope != nullptr) napi_close_callback_scope(self->env_, scope);
  napi_close_handle_scope(self->env_, handles);
}

void EnvData::OnCleanup(napi_async_cleanup_hook_handle, void* data) {
  auto* self = static_cast<EnvData*>(data);
  self->going_ = true;
  self->storage_->env_data = nullptr;
  self->storage_->populator->Stop();
  self->barriers_.Stop();
  self->reads_.Stop();
  self->maintenance_.Stop();
  self->completions_->Discard();
  uv_close(reinterpret_cast<uv_handle_t*>(self->async_), [](uv_handle_t* handle) {
    auto* closed = static_cast<EnvData*>(handle->data);
    delete reinterpret_cast<uv_async_t*>(handle);
    closed->async_ = nullptr;
    napi_remove_async_cleanup_hook(closed->cleanup_);
  });
}

/**
 * Node closes an addon that only a worker_thread has loaded when that worker ends. Our signal handler and the
 * counts of this process would go with it, so the library stays once it is loaded.
 */
static void StayLoaded() {
  static std::once_flag once;
  std::call_once(once, [] {
    Dl_info self;
    if (dladdr(reinterpret_cast<void*>(&InitEnv), &self) != 0)
      dlopen(self.dli_fname, RTLD_LAZY | RTLD_NODELETE);
  });
}

bool InitEnv(Napi::Env env) {
  StayLoaded();
  auto data = std::make_unique<EnvData>(env);
  if (!data->ready()) {
    napi_throw_error(env, nullptr, "the event loop has no descriptor left to be woken by");
    return false;
  }
  napi_set_instance_data(
      env, data.release(), [](napi_env, void* data, void*) { delete static_cast<EnvData*>(data); }, nullptr);
  return true;
}

}  // namespace millrace
