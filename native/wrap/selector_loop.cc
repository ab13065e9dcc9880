// Turns and their end. The order of the end: the sockets are closed at once, the handles in the loop's own
// time, and only then is the selector freed, which therefore never happens below a turn that is running.

#include "wrap/selector_loop.h"

#include "wrap/args.h"

namespace millrace {

namespace {
// While it finishes, time limits are looked at this often.
constexpr std::uint64_t kFinishTickMs = 20;

template <typename Handle>
SelectorLoop* LoopOf(Handle* handle) {
  return static_cast<SelectorLoop*>(handle->data);
}
}  // namespace

std::shared_ptr<SelectorLoop> SelectorLoop::Start(napi_env env, napi_value self, napi_value options,
                                                  napi_value on_turn) {
  std::shared_ptr<SelectorLoop> loop(new SelectorLoop(env));
  napi_valuetype type = napi_undefined;
  if (napi_typeof(env, on_turn, &type) != napi_ok || type != napi_function) {
    ThrowType(env, "onTurn must be a function");
    return nullptr;
  }
  if (!loop->setup_.Read(env, options)) {
    loop->ReleaseReferences();
    return nullptr;
  }
  EnvData* const data = EnvData::Get(env);
  SelectorLoop* const raw = loop.get();
  loop->selector_ = std::make_unique<Selector>(loop->setup_.options, loop->setup_.tables, data->reads(),
                                               data->completions(), [raw] { raw->Reschedule(); });
  SysError error = loop->selector_->Open();
  const int polled = error ? 0 : uv_poll_init(data->loop(), &loop->poll_, loop->selector_->fd());
  if (polled != 0) error = {-polled, "uv_poll_init", {}};
  if (error) {
    napi_throw(env, MakeError(env, error));
    loop->ReleaseReferences();
    return nullptr;
  }
  // These two take nothing that could be lacking.
  (void)uv_idle_init(data->loop(), &loop->idle_);
  (void)uv_timer_init(data->loop(), &loop->timer_);
  loop->poll_.data = loop->idle_.data = loop->timer_.data = raw;
  loop->open_handles_ = 3;
  loop->self_ = loop;

  napi_create_reference(env, self, 1, &loop->object_);
  napi_create_reference(env, on_turn, 1, &loop->on_turn_);
  napi_value name = nullptr;
  napi_create_string_utf8(env, "millrace.Selector", NAPI_AUTO_LENGTH, &name);
  napi_async_init(env, nullptr, name, &loop->context_);
  const auto on_cleanup = [](napi_async_cleanup_hook_handle, void* going) {
    auto* const ending = static_cast<SelectorLoop*>(going);
    ending->environment_going_ = true;
    ending->End();
  };
  napi_add_async_cleanup_hook(env, on_cleanup, raw, &loop->cleanup_);
  uv_poll_start(&loop->poll_, UV_READABLE, [](uv_poll_t* handle, int, int) { LoopOf(handle)->RunTurn(); });
  loop->Reschedule();
  return loop;
}

SelectorLoop::~SelectorLoop() = default;

bool SelectorLoop::ArraysStillThere() const {
  for (const PinnedArray& array : setup_.pinned) {
    if (!array.StillThere(env_)) return false;
  }
  return true;
}

void SelectorLoop::RequestTurn() {
  turn_requested_ = true;
  Reschedule();
}

void SelectorLoop::Reschedule() {
  if (ended_) return;
  if (turn_requested_ || selector_->NeedsTurn()) {
    uv_idle_start(&idle_, [](uv_idle_t* handle) { LoopOf(handle)->RunTurn(); });
  } else {
    uv_idle_stop(&idle_);
  }
  // One that neither listens nor has a connection does not keep the process alive.
  auto* const poll = reinterpret_cast<uv_handle_t*>(&poll_);
  if (selector_->listening() || selector_->connections() > 0) {
    uv_ref(poll);
  } else {
    uv_unref(poll);
  }
}

void SelectorLoop::RunTurn() {
  if (ended_ || in_turn_ || environment_going_) return;
  napi_handle_scope scope = nullptr;
  if (napi_open_handle_scope(env_, &scope) != napi_ok) return;
  in_turn_ = true;
  if (ArraysStillThere()) {
    const bool requested = turn_requested_;
    turn_requested_ = false;
    const Selector::Rows rows = selector_->BeginTurn();
    if (rows.any() || requested || selector_->has_file_failures()) CallTurn(rows);
    // Only the counters are touched behind the call.
    if (!ended_ && setup_.pinned[kCounters].StillThere(env_)) selector_->EndTurn();
  } else {
    EndWithoutArrays();
  }
  in_turn_ = false;
  SettleFinish();
  Reschedule();
  napi_close_handle_scope(env_, scope);
}

void SelectorLoop::EndWithoutArrays() {
  End();
  napi_value error = nullptr;
  napi_value message = nullptr;
  napi_create_string_utf8(env_, "an array of the selector was detached or resized", NAPI_AUTO_LENGTH,
                          &message);
  napi_create_type_error(env_, nullptr, message, &error);
  napi_fatal_exception(env_, error);
}

void SelectorLoop::CallTurn(const Selector::Rows& rows) {
  napi_value self = nullptr;
  napi_value on_turn = nullptr;
  napi_value arguments[3] = {};
  napi_get_reference_value(env_, object_, &self);
  napi_get_reference_value(env_, on_turn_, &on_turn);
  napi_create_uint32(env_, rows.frames, &arguments[0]);
  napi_create_uint32(env_, rows.opened, &arguments[1]);
  napi_create_uint32(env_, rows.closed, &arguments[2]);
  if (napi_make_callback(env_, context_, self, on_turn, 3, arguments, nullptr) == napi_ok) return;
  bool pending = false;
  napi_value error = nullptr;
  if (napi_is_exception_pending(env_, &pending) == napi_ok && pending &&
      napi_get_and_clear_last_exception(env_, &error) == napi_ok) {
    // Now and not later: whatever ran next would run on the state that the exception left behind.
    napi_fatal_exception(env_, error);
  }
}

napi_value SelectorLoop::Finish(std::int64_t linger_ms) {
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  if (napi_create_promise(env_, &deferred, &promise) != napi_ok) return nullptr;
  if (ended_) {
    napi_resolve_deferred(env_, deferred, Undefined(env_));
    return promise;
  }
  finishing_.push_back(deferred);
  selector_->Finish(linger_ms);
  const auto tick = [](uv_timer_t* handle) {
    SelectorLoop* const loop = LoopOf(handle);
    const std::shared_ptr<SelectorLoop> alive = loop->self_;
    napi_handle_scope scope = nullptr;
    if (loop->environment_going_ || napi_open_handle_scope(loop->env_, &scope) != napi_ok) return;
    if (loop->ArraysStillThere()) {
      loop->selector_->Sweep();
      loop->SettleFinish();
      loop->Reschedule();
    } else {
      loop->EndWithoutArrays();
    }
    napi_close_handle_scope(loop->env_, scope);
  };
  uv_timer_start(&timer_, tick, kFinishTickMs, kFinishTickMs);
  Reschedule();
  return promise;
}

void SelectorLoop::SettleFinish() {
  if (ended_ || in_turn_ || finishing_.empty() || !selector_->finished()) return;
  End();
}

void SelectorLoop::End() {
  if (ended_) return;
  ended_ = true;
  // Nobody looks at the counters of an environment that goes, and their memory may be gone before us.
  if (environment_going_ || !ArraysStillThere()) selector_->ForgetTables();
  selector_->Destroy();
  uv_poll_stop(&poll_);
  uv_idle_stop(&idle_);
  uv_timer_stop(&timer_);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_), OnHandleClosed);
  uv_close(reinterpret_cast<uv_handle_t*>(&idle_), OnHandleClosed);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), OnHandleClosed);
  if (environment_going_ || finishing_.empty()) return;
  // In a callback scope, so that what awaits it runs before the loop waits again.
  napi_value resource = nullptr;
  napi_callback_scope scope = nullptr;
  napi_create_object(env_, &resource);
  napi_open_callback_scope(env_, resource, context_, &scope);
  for (napi_deferred deferred : finishing_) napi_resolve_deferred(env_, deferred, Undefined(env_));
  finishing_.clear();
  if (scope != nullptr) napi_close_callback_scope(env_, scope);
}

void SelectorLoop::OnHandleClosed(uv_handle_t* handle) {
  SelectorLoop* const loop = LoopOf(handle);
  if (--loop->open_handles_ > 0) return;
  const std::shared_ptr<SelectorLoop> last = std::move(loop->self_);
  loop->selector_.reset();  // not only when the object is collected: it has a descriptor
  napi_handle_scope scope = nullptr;
  napi_open_handle_scope(loop->env_, &scope);
  loop->ReleaseReferences();
  napi_close_handle_scope(loop->env_, scope);
  napi_remove_async_cleanup_hook(loop->cleanup_);
}

void SelectorLoop::ReleaseReferences() {
  setup_.Unpin(env_);
  if (object_ != nullptr) napi_delete_reference(env_, object_);
  if (on_turn_ != nullptr) napi_delete_reference(env_, on_turn_);
  if (context_ != nullptr) napi_async_destroy(env_, context_);
  object_ = on_turn_ = nullptr;
  context_ = nullptr;
}

}  // namespace millrace
