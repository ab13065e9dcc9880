// A mapped page that cannot be had: the process says which file and ends; a fault elsewhere is whoever's it
// was before. Each case is a child process, because each is the end of one.

#include "core/mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cerrno>

#include "test/harness.h"
#include "test/storage_kit.h"

namespace millrace::test {
namespace {

struct Ended {
  int status;
  std::string said;
};

/** Runs `body` in a child and says how it ended and what it wrote to stderr. */
template <typename Body>
Ended InChild(Body body) {
  int pipes[2];
  (void)!pipe(pipes);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDERR_FILENO);
    body();
    _exit(99);
  }
  close(pipes[1]);
  Ended ended{};
  char buffer[4096];
  for (ssize_t n; (n = read(pipes[0], buffer, sizeof buffer)) > 0;)
    ended.said.append(buffer, static_cast<std::size_t>(n));
  close(pipes[0]);
  while (waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
  }
  return ended;
}

/** A mapping whose file was cut under it: every page is SIGBUS. */
struct CutMapping {
  CutMapping(const ScratchDir& dir, const std::string& name)
      : fd(open(dir.At("m").c_str(), O_RDWR | O_CREAT, 0644)) {
    (void)!ftruncate(fd.get(), 1 << 20);
    mapping.Map(fd.get(), 1 << 20, name);
    (void)!ftruncate(fd.get(), 0);
  }
  void Touch() { *static_cast<volatile std::uint8_t*>(mapping.base() + 5000) = 1; }
  Fd fd;
  Mapping mapping;
};

#if !defined(__SANITIZE_THREAD__)  // It runs handlers of synchronous signals at another time.

TEST("a fault in a mapping names its file and ends the process") {
  ScratchDir dir;
  const Ended ended = InChild([&] { CutMapping(dir, "/data/orders-0/00000000000000000000.log").Touch(); });
  EXPECT_TRUE(WIFEXITED(ended.status));
  EXPECT_EQ(WEXITSTATUS(ended.status), 1);
  EXPECT_EQ(ended.said,
            "millrace: a mapped page could not be read or written (SIGBUS), ending: "
            "/data/orders-0/00000000000000000000.log\n");
}

TEST("of a long name the end is told, and after a rename the new one") {
  ScratchDir dir;
  const std::string name = std::string(400, 'd') + "/00000000000000000042.log";
  const Ended ended = InChild([&] {
    CutMapping cut(dir, "/before");
    cut.mapping.set_name(name);
    cut.Touch();
  });
  EXPECT_EQ(WEXITSTATUS(ended.status), 1);
  EXPECT_TRUE(ended.said.find("d/00000000000000000042.log\n") != std::string::npos);
  EXPECT_TRUE(ended.said.find("/before") == std::string::npos);
}

void FaultElsewhere(const ScratchDir& dir) {
  const Fd fd(open(dir.At("e").c_str(), O_RDWR | O_CREAT, 0644));
  void* const address = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  *static_cast<volatile char*>(address) = 1;
}

TEST("a fault elsewhere goes to the handler that was there before") {
  ScratchDir dir;
  const Ended ended = InChild([&] {
    struct sigaction before{};
    before.sa_handler = [](int) { _exit(42); };
    sigaction(SIGBUS, &before, nullptr);
    const CutMapping cut(dir, "/ours");
    FaultElsewhere(dir);
  });
  EXPECT_TRUE(WIFEXITED(ended.status));
  EXPECT_EQ(WEXITSTATUS(ended.status), 42);
  EXPECT_EQ(ended.said, "");
}

TEST("a fault elsewhere with no handler before is the system's own end") {
  ScratchDir dir;
  const Ended ended = InChild([&] {
    signal(SIGBUS, SIG_DFL);
    const CutMapping cut(dir, "/ours");
    FaultElsewhere(dir);
  });
  EXPECT_TRUE(WIFSIGNALED(ended.status));
  EXPECT_EQ(WTERMSIG(ended.status), SIGBUS);
}

TEST("a range that was ours once is ours no more") {
  ScratchDir dir;
  const Ended ended = InChild([&] {
    signal(SIGBUS, SIG_DFL);
    std::uint8_t* where = nullptr;
    {
      const CutMapping cut(dir, "/ours");
      where = cut.mapping.base();
    }
    const Fd fd(open(dir.At("e").c_str(), O_RDWR | O_CREAT, 0644));
    void* const address = mmap(where, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd.get(), 0);
    *(static_cast<volatile char*>(address) + 5000) = 1;
  });
  EXPECT_TRUE(WIFSIGNALED(ended.status));
}

#endif

TEST("mapping what cannot be mapped is an error") {
  Mapping mapping;
  EXPECT_EQ(mapping.Map(-1, 4096, "/x"), EBADF);
  EXPECT_TRUE(mapping.base() == nullptr);
}

}  // namespace
}  // namespace millrace::test
