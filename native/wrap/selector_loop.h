// Drives a Selector from libuv: a single uv_poll on the poller's descriptor, an idle handle for work that
// waits for no socket, and a timer while it finishes. It calls JavaScript once in a turn. It outlives the
// JavaScript object as long as its handles are open, so an environment can go in the middle of anything.
#pragma once

#include <napi.h>
#include <uv.h>

#include <memory>
#include <vector>

#include "core/selector.h"
#include "wrap/env.h"
#include "wrap/selector_options.h"

namespace millrace {

class SelectorLoop {
 public:
  /** Null when it has thrown. `self` is the JavaScript object, kept alive until the end. */
  static std::shared_ptr<SelectorLoop> Start(napi_env env, napi_value self, napi_value options,
                                             napi_value on_turn);
  ~SelectorLoop();

  /** Null after the end. */
  Selector* selector() { return ended_ ? nullptr : selector_.get(); }
  bool ArraysStillThere() const;
  std::vector<FilePtr>& files() { return files_; }

  /** After anything that may have left work to do. */
  void Reschedule();
  void RequestTurn();
  /** The promise. */
  napi_value Finish(std::int64_t linger_ms);
  void End();

 private:
  explicit SelectorLoop(napi_env env) : env_(env) {}
  void RunTurn();
  void CallTurn(const Selector::Rows& rows);
  void EndWithoutArrays();
  void SettleFinish();
  void ReleaseReferences();
  static void OnHandleClosed(uv_handle_t* handle);

  const napi_env env_;
  std::unique_ptr<Selector> selector_;
  SelectorSetup setup_;
  std::vector<FilePtr> files_;

  uv_poll_t poll_{};
  uv_idle_t idle_{};
  uv_timer_t timer_{};
  int open_handles_ = 0;
  napi_async_cleanup_hook_handle cleanup_ = nullptr;
  /** While handles are open. */
  std::shared_ptr<SelectorLoop> self_;

  napi_ref object_ = nullptr;
  napi_ref on_turn_ = nullptr;
  napi_async_context context_ = nullptr;
  std::vector<napi_deferred> finishing_;
  bool turn_requested_ = false;
  bool in_turn_ = false;
  bool ended_ = false;
  bool environment_going_ = false;
};

}  // namespace millrace
