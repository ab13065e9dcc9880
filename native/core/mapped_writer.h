// The MAPPED path: the whole segment is mapped, an append is a copy. Blocks under the bytes are reserved
// before, so a full disk is an error of `Reserve` and never a SIGBUS in the middle of a copy.
#pragma once

#include <memory>
#include <string>

#include "core/mapping.h"
#include "core/populator.h"
#include "core/segment_writer.h"

namespace millrace {

class MappedWriter final : public SegmentWriter {
 public:
  MappedWriter(const SegmentWriterConfig& config, FilePtr file, std::uint32_t end)
      : SegmentWriter(config, std::move(file), end), populator_(config.populator) {}
  ~MappedWriter() override;

  void Stage(const Batch& batch) override;
  int Commit(WriteScratch* scratch) override;
  void Populate(std::uint32_t up_to) override;
  void NameChanged(const std::string& path) override;

 private:
  SysError Prepare() override;
  SysError ForceRange(std::uint32_t from, std::uint32_t to) override;
  int ReserveWithoutBlocks(std::uint32_t from, std::uint32_t to) override;
  int TryLastPage(std::uint32_t end) override;
  int Fill(std::uint32_t from, std::uint32_t to) override;
  void HandOver(std::uint32_t end) override;
  void Release() override;

  void PrepareAhead(std::uint32_t from, std::uint32_t to);
  void CacheAhead();

  const std::shared_ptr<Populator> populator_;
  Mapping mapping_;
  PopulateTargetPtr target_;
  std::uint32_t cache_at_ = 0;      // The end at which more is cached. The loop's.
  std::uint32_t small_groups_ = 0;  // Touched by barriers only, which come one after the other.
};

}  // namespace millrace
