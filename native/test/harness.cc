// Runs the tests of one file and prints `N passed, N failed` at the end. An argument runs only the tests
// whose name contains it.

#include "test/harness.h"

#include <chrono>

namespace millrace::test {

namespace {
bool failed = false;
}

std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}

void Fail(const char* file, int line, const std::string& what) {
  failed = true;
  std::printf("  %s:%d: %s\n", file, line, what.c_str());
}

/** Names are sentences in quotes; the quotes came with them through the preprocessor. */
static std::string Unquoted(const char* name) {
  std::string text = name;
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

static int Run(const char* wanted) {
  int passed = 0;
  int not_passed = 0;
  for (const Case& test : Cases()) {
    const std::string name = Unquoted(test.name);
    if (wanted != nullptr && name.find(wanted) == std::string::npos) continue;
    std::printf("%s\n", name.c_str());
    std::fflush(stdout);  // said before it runs: the last line of a crash names the test
    failed = false;
    const auto begin = std::chrono::steady_clock::now();
    test.body();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (took.count() > 1) std::printf("  took %.1f s\n", took.count());
    if (failed) std::printf("  FAILED: %s\n", name.c_str());
    ++(failed ? not_passed : passed);
  }
  std::printf("%d passed, %d failed\n", passed, not_passed);
  std::fflush(stdout);  // a leak is found after main, and ends the process without flushing
  return not_passed == 0 ? 0 : 1;
}

}  // namespace millrace::test

int main(int argc, char** argv) { return millrace::test::Run(argc > 1 ? argv[1] : nullptr); }
