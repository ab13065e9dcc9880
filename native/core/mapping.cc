// The list of mappings is read by a signal handler, so it has no lock: records are never freed, only used
// again, and a handler that meets one in the middle of a change sees an empty range.

#include "core/mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/platform.h"

namespace millrace {

struct MappingRecord {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  // 0: free
  /** The end of a longer name, which is what tells segments apart. */
  std::atomic<char> name[256] = {};
  MappingRecord* next = nullptr;
};

namespace {

/** What `sysexits.h` calls EX_IOERR would say it, too; but the exit codes of the process are documented, and
 * this is "else". */
constexpr int kExitCode = 1;

std::atomic<MappingRecord*> records{nullptr};
std::mutex changing;
struct sigaction previous;

void Write(const char* text, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::write(STDERR_FILENO, text, bytes);
    if (n <= 0) return;
    text += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void Chain(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // Returning makes the same fault again, this time with the system's own action.
    struct sigaction fallback{};
    fallback.sa_handler = SIG_DFL;
    ::sigaction(SIGBUS, &fallback, nullptr);
  }
}

void OnBusError(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (MappingRecord* record = records.load(std::memory_order_acquire); record != nullptr;
       record = record->next) {
    const std::uintptr_t end = record->end.load(std::memory_order_acquire);
    if (address >= end || address < record->begin.load(std::memory_order_relaxed)) continue;
    char line[sizeof record->name + 128] =
        "millrace: a mapped page could not be read or written (SIGBUS), ending: ";
    std::size_t length = std::strlen(line);
    for (const auto& letter : record->name) {
      const char value = letter.load(std::memory_order_relaxed);
      if (value == 0) break;
      line[length++] = value;
    }
    line[length++] = '\n';
    Write(line, length);
    ::_exit(kExitCode);
  }
  Chain(signal, info, context);
}

void InstallHandler() {
  struct sigaction action{};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous);
}

void Fill(MappingRecord* record, const std::string& name) {
  constexpr std::size_t kRoom = sizeof record->name - 1;
  const std::size_t skip = name.size() > kRoom ? name.size() - kRoom : 0;
  for (std::size_t i = skip; i <= name.size(); i++)
    record->name[i - skip].store(name.c_str()[i], std::memory_order_relaxed);
}

MappingRecord* Enter(std::uint8_t* base, std::size_t bytes, const std::string& name) {
  static bool installed = false;
  std::lock_guard<std::mutex> lock(changing);
  if (!installed) InstallHandler();
  installed = true;
  MappingRecord* record = records.load(std::memory_order_relaxed);
  while (record != nullptr && record->end.load(std::memory_order_relaxed) != 0) record = record->next;
  const bool fresh = record == nullptr;
  if (fresh) record = new MappingRecord;
  Fill(record, name);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  record->begin.store(begin, std::memory_order_relaxed);
  record->end.store(begin + bytes, std::memory_order_release);
  if (fresh) {
    record->next = records.load(std::memory_order_relaxed);
    records.store(record, std::memory_order_release);
  }
  return record;
}

}  // namespace

int Mapping::Map(int fd, std::size_t bytes, const std::string& name) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return errno;
  base_ = static_cast<std::uint8_t*>(address);
  bytes_ = bytes;
  record_ = Enter(base_, bytes, name);
  return 0;
}

void Mapping::Unmap(std::size_t written) {
  if (base_ == nullptr) return;
  platform::HandOverMapping(base_, written);
  record_->end.store(0, std::memory_order_release);
  ::munmap(base_, bytes_);
  base_ = nullptr;
}

void Mapping::set_name(const std::string& name) {
  std::lock_guard<std::mutex> lock(changing);
  if (base_ != nullptr) Fill(record_, name);
}

}  // namespace millrace
