// Adjacent rows of one writer are a group: each batch is checked and staged, the group is committed together.
// A batch is in the processor's cache when it is copied, because it has just been checked.

#include "core/append.h"

#include "core/region_check.h"

namespace millrace {
namespace {

std::int32_t* Row(const AppendCall& call, std::uint32_t row) {
  return call.table + std::size_t{row} * kAppendColumns;
}

TableFault CheckRow(const AppendCall& call, const WriterRegistry& writers, const std::int32_t* row) {
  if (writers.Find(row[append_column::kWriter]) == nullptr) return TableFault::kWriter;
  const auto source = static_cast<std::uint32_t>(row[append_column::kSource]);
  if (source >= call.source_count) return TableFault::kSource;
  const std::int32_t offset = row[append_column::kOffset];
  const std::int32_t bytes = row[append_column::kBytes];
  if (offset < 0 || bytes < 0) return TableFault::kRange;
  const std::size_t count = call.sources[source].count;
  const auto from = static_cast<std::size_t>(offset);
  if (from > count || static_cast<std::size_t>(bytes) > count - from) return TableFault::kRange;
  return TableFault::kNone;
}

void Settle(std::int32_t* row, AppendStatus status, std::uint32_t end, int error) {
  row[append_column::kStatus] = static_cast<std::int32_t>(status);
  row[append_column::kEnd] = static_cast<std::int32_t>(end);
  row[append_column::kErrno] = error;
}

}  // namespace

AppendResult Appender::Run(const AppendCall& call) {
  AppendResult result;
  for (std::uint32_t row = 0; row < call.rows; row++) {
    const TableFault fault = CheckRow(call, writers_, Row(call, row));
    if (fault != TableFault::kNone) {
      result.fault = fault;
      result.row = row;
      return result;
    }
  }
  turn_++;
  IndexCursor index{call.index_out, 0, call.index_room};
  for (std::uint32_t row = 0; row < call.rows;) row = RunGroup(call, row, &index);
  result.index_rows = index.count;
  return result;
}

std::uint32_t Appender::RunGroup(const AppendCall& call, std::uint32_t first, IndexCursor* index) {
  const std::int32_t id = Row(call, first)[append_column::kWriter];
  SegmentWriter& writer = *writers_.Find(id);
  const RegionBounds bounds{&writer.format(), writer.max_payload(), writer.index_interval()};
  const std::uint32_t reserved = writer.reserved();
  const std::uint32_t end_before = writer.end();
  const std::uint64_t index_before = writer.next_index;
  const std::uint32_t entries_before = index->count;

  int error = writer.broken();
  std::uint32_t row = first;
  for (; row < call.rows && Row(call, row)[append_column::kWriter] == id; row++) {
    std::int32_t* const columns = Row(call, row);
    if (error != 0) {
      Settle(columns, AppendStatus::kIoError, end_before, error);
      continue;
    }
    const std::uint8_t* const wire =
        call.sources[columns[append_column::kSource]].bytes + columns[append_column::kOffset];
    const auto bytes = static_cast<std::uint32_t>(columns[append_column::kBytes]);
    const std::int32_t records = columns[append_column::kRecords];
    const std::uint32_t position = writer.staged_end();
    const std::uint64_t due_before = writer.next_index;
    const std::uint32_t rows_before = index->count;
    AppendStatus status = CheckRegion(wire, bytes, records, bounds, row, position, &writer.next_index, index);
    if (status == AppendStatus::kOk) {
      const auto count = static_cast<std::uint32_t>(records);
      const std::uint64_t stored = writer.format().StoredBytes(bytes, count);
      if (writer.full_in_turn == turn_ || position + stored > reserved) {
        // Later batches of this turn wait, too, even if they would fit: a producer's second must not overtake
        // its first.
        writer.full_in_turn = turn_;
        writer.next_index = due_before;
        index->count = rows_before;
        status = AppendStatus::kNoRoom;
      } else {
        writer.Stage({wire, bytes, count, static_cast<std::uint32_t>(stored)});
      }
    }
    Settle(columns, status, writer.staged_end(), 0);
  }
  if (error != 0) return row;

  error = writer.Commit(&scratch_);
  if (error == 0) return row;
  writer.next_index = index_before;
  index->count = entries_before;
  for (std::uint32_t failed = first; failed < row; failed++) {
    std::int32_t* const columns = Row(call, failed);
    if (columns[append_column::kStatus] == static_cast<std::int32_t>(AppendStatus::kOk)) {
      Settle(columns, AppendStatus::kIoError, end_before, error);
    } else {
      columns[append_column::kEnd] = static_cast<std::int32_t>(end_before);
    }
  }
  return row;
}

}  // namespace millrace
