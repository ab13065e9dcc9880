// A joinable thread that reports when it cannot be started. std::thread would throw there, and exceptions are
// off: a process at its limit of threads would be aborted instead of working with the threads it has.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <functional>
#include <memory>
#include <utility>

namespace millrace {

class Thread {
 public:
  Thread() = default;
  Thread(Thread&& other) noexcept : id_(other.id_), running_(std::exchange(other.running_, false)) {}
  Thread& operator=(Thread&&) = delete;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() { Join(); }

  bool running() const { return running_; }

  /** False when the system has no thread for us. */
  bool Start(std::function<void()> body) {
    auto owned = std::make_unique<std::function<void()>>(std::move(body));
    // Signals meant for the program around us stay with its own threads. Those that a thread raises itself
    // must stay open.
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    running_ = pthread_create(&id_, nullptr, &Thread::Body, owned.get()) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (running_) (void)owned.release();
    return running_;
  }

  void Join() {
    if (std::exchange(running_, false)) pthread_join(id_, nullptr);
  }

 private:
  static void* Body(void* body) {
    std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(body));
    (*owned)();
    return nullptr;
  }

  pthread_t id_{};
  bool running_ = false;
};

}  // namespace millrace
