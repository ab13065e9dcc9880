// A promise for work on one of the environment's pools. What the work needs it holds itself (files and
// writers by reference, bytes by copy), so that no object has to live for it and none is in its way when it
// is collected or the environment goes.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.h"
#include "wrap/args.h"
#include "wrap/env.h"

namespace millrace {

template <typename Value>
struct Outcome {
  SysError error;
  Value value{};
};

/** For work that has no result. */
struct Nothing {};

/**
 * Runs `work(Outcome&)` on a thread of `pool`, then `settle(env, Outcome&)` on the loop thread, failed or
 * not: what it returns resolves the promise, unless there is an error, which rejects it. Neither runs when
 * the environment goes first.
 */
template <typename Value, typename Work, typename Settle>
napi_value RunAsync(EnvData* data, WorkerPool& pool, Work work, Settle settle) {
  napi_deferred deferred = nullptr;
  napi_value promise = nullptr;
  if (napi_create_promise(data->env(), &deferred, &promise) != napi_ok) return nullptr;
  struct Operation {
    std::optional<Work> work;
    Settle settle;
    Outcome<Value> outcome;
  };
  std::shared_ptr<Operation> operation(new Operation{std::move(work), std::move(settle), {}});
  data->OperationBegun();
  pool.Submit([data, deferred, operation = std::move(operation)]() mutable {
    (*operation->work)(operation->outcome);
    // Let go here and now: whoever waits for the promise may expect that files are closed, and unmapping is
    // not the loop's.
    operation->work.reset();
    data->completions().Post([data, deferred, operation = std::move(operation)] {
      const napi_env env = data->env();
      data->OperationDone();
      napi_handle_scope scope = nullptr;
      if (napi_open_handle_scope(env, &scope) != napi_ok) return;
      const napi_value result = operation->settle(env, operation->outcome);
      if (operation->outcome.error) {
        napi_reject_deferred(env, deferred, MakeError(env, operation->outcome.error));
      } else {
        napi_resolve_deferred(env, deferred, result);
      }
      napi_close_handle_scope(env, scope);
    });
  });
  return promise;
}

/** The same for work whose result is nothing or a number. */
template <typename Work>
napi_value RunAsync(EnvData* data, WorkerPool& pool, Work work) {
  return RunAsync<Nothing>(data, pool, std::move(work),
                           [](napi_env env, Outcome<Nothing>&) { return Undefined(env); });
}
template <typename Work>
napi_value RunAsyncNumber(EnvData* data, WorkerPool& pool, Work work) {
  return RunAsync<double>(data, pool, std::move(work),
                          [](napi_env env, Outcome<double>& outcome) { return Number(env, outcome.value); });
}

}  // namespace millrace
