// Only a file without a name is worth the detour: closing any other frees nothing and takes no time.

#include "core/let_go.h"

#include <sys/stat.h>

#include <utility>

namespace millrace {

namespace {
bool IsRemoved(const File& file) {
  struct stat stat{};
  return fstat(file.fd(), &stat) == 0 && stat.st_nlink == 0;
}
}  // namespace

void LetGo(FilePtr file, WorkerPool& pool) {
  // Whoever else holds it may be on its way to let go as well; then it is closed there, on a thread of a
  // pool.
  if (file == nullptr || file.use_count() > 1 || !IsRemoved(*file)) return;
  pool.Submit([file = std::move(file)]() mutable { file = nullptr; });
}

}  // namespace millrace
