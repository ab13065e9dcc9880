// What the addon keeps for one JavaScript environment (the main thread or one worker_thread): its pools and
// the queue by which results come back. It lives from the module's load until the environment's cleanup,
// which stops the pools first.
#pragma once

#include <napi.h>
#include <uv.h>

#include <memory>

#include "core/worker_pool.h"

namespace millrace {

struct StorageEnv;  // wrap/storage_env.h

class EnvData {
 public:
  explicit EnvData(Napi::Env env);
  ~EnvData();
  static EnvData* Get(napi_env env);
  /** False when results could not come back from the pools; then nothing of it may be used. */
  bool ready() const { return async_ != nullptr; }

  napi_env env() const { return env_; }
  uv_loop_t* loop() const { return loop_; }
  WorkerPool& barriers() { return barriers_; }
  WorkerPool& reads() { return reads_; }
  WorkerPool& maintenance() { return maintenance_; }
  CompletionQueue& completions() { return *completions_; }
  const std::shared_ptr<StorageEnv>& storage() const { return storage_; }

  /** Called on the loop thread: an operation is under way, the process stays alive for it. Balanced by
   * OperationDone. */
  void OperationBegun();
  void OperationDone();
  /** The environment is being torn down: nothing may call into JavaScript any more. Loop thread only. */
  bool going() const { return going_; }

 private:
  static void OnWake(uv_async_t* handle);
  static void OnCleanup(napi_async_cleanup_hook_handle handle, void* data);

  napi_env env_;
  uv_loop_t* loop_ = nullptr;
  uv_async_t* async_ = nullptr;
  napi_async_context context_ = nullptr;
  napi_async_cleanup_hook_handle cleanup_ = nullptr;
  std::unique_ptr<CompletionQueue> completions_;
  int operations_ = 0;
  bool going_ = false;
  std::shared_ptr<StorageEnv> storage_;
  WorkerPool barriers_{8};
  WorkerPool reads_{4};
  WorkerPool maintenance_{2, /*gives_way=*/true};
};

}  // namespace millrace
