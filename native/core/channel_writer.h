// The FILE_CHANNEL path: one positional vectored write for each group of batches. The file is exactly as long
// as its records; blocks behind its end are reserved where the file system can do that without changing the
// length.
#pragma once

#include <vector>

#include "core/segment_writer.h"

namespace millrace {

class ChannelWriter final : public SegmentWriter {
 public:
  ChannelWriter(const SegmentWriterConfig& config, FilePtr file, std::uint32_t end)
      : SegmentWriter(config, std::move(file), end) {}

  void Stage(const Batch& batch) override;
  int Commit(WriteScratch* scratch) override;

 private:
  SysError Prepare() override { return {}; }
  SysError ForceRange(std::uint32_t from, std::uint32_t to) override;
  int ReserveWithoutBlocks(std::uint32_t from, std::uint32_t to) override;
  void Release() override {}

  std::vector<Batch> staged_;
};

}  // namespace millrace
