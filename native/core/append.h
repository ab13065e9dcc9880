// One turn's appends: many batches of many segments in one call. Here is the only copy between socket and
// log.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/writer_registry.h"

namespace millrace {

struct Source {
  const std::uint8_t* bytes;
  std::size_t count;
};

struct AppendCall {
  std::int32_t* table;  // Rows as in abi.h.
  std::uint32_t rows;
  const Source* sources;
  std::uint32_t source_count;
  std::uint32_t* index_out;  // Rows as in abi.h.
  std::uint32_t index_room;  // In rows.
};

/** What is wrong with the table itself: a mistake of the caller, found before anything is written. */
enum class TableFault { kNone, kWriter, kSource, kRange };

struct AppendResult {
  TableFault fault = TableFault::kNone;
  std::uint32_t row = 0;         // With a fault: where.
  std::uint32_t index_rows = 0;  // Else: how many were filled.
};

class Appender {
 public:
  WriterRegistry& writers() { return writers_; }
  AppendResult Run(const AppendCall& call);

 private:
  std::uint32_t RunGroup(const AppendCall& call, std::uint32_t first, struct IndexCursor* index);

  WriterRegistry writers_;
  WriteScratch scratch_;
  std::uint64_t turn_ = 0;
};

}  // namespace millrace
