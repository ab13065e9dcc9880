// Batches are only noted while a turn collects them, and written when the writer's group ends.

#include "core/channel_writer.h"

#include <sys/statvfs.h>

#include "core/gather.h"
#include "core/io.h"

namespace millrace {

void ChannelWriter::Stage(const Batch& batch) {
  staged_.push_back(batch);
  staged_end_ += batch.stored_bytes;
}

int ChannelWriter::Commit(WriteScratch* scratch) {
  Gather gather(file()->fd(), end(), format(), scratch);
  int code = 0;
  for (const Batch& batch : staged_) {
    code = gather.Add(batch);
    if (code != 0) break;
  }
  if (code == 0) code = gather.Flush();
  staged_.clear();
  if (code != 0) {
    // What was written behind the end is left alone: nothing is put back, and nobody writes there again.
    staged_end_ = end();
    Break(code);
    return code;
  }
  PublishEnd();
  return 0;
}

SysError ChannelWriter::ForceRange(std::uint32_t, std::uint32_t) {
  // The new size is needed for reading, so it is part of the data that this forces.
  if (const int code = ForceFileData(file()->fd())) return Failure(code, "fdatasync");
  return {};
}

int ChannelWriter::ReserveWithoutBlocks(std::uint32_t from, std::uint32_t to) {
  // Zeros would make the file longer than its records. That there is room now is the most that can be said
  // here.
  struct statvfs stat{};
  if (::fstatvfs(file()->fd(), &stat) != 0) return errno;
  const auto free = static_cast<std::uint64_t>(stat.f_bavail) * stat.f_frsize;
  return free < to - from ? ENOSPC : 0;
}

}  // namespace millrace
