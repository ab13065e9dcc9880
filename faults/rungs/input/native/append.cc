// Appends to two segments in turns, on both paths and in both formats: each batch is written whole or not at
// all, as a plain model says, and what lies in the files are the batches that were taken.
//
//   u8 choices | u16 capacity | u8 turns | turns × (u8 rows | rows × (u8 kind | u8 records | u16 size)), one
//   more byte for each that is damaged

#include "core/append.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "kit.h"
#include "wire.h"

namespace millrace::fuzz {
namespace {

constexpr std::uint32_t kIndexRoom = 8;
constexpr std::uint32_t kHighest = 200'000;

/** A segment as it must be. */
struct Model {
  std::shared_ptr<SegmentWriter> writer;
  bool summed = false;
  std::int32_t id = 0;
  Bytes stored;
  bool full = false;
};

Model Made(Appender* appender, const char* name, bool mapped, bool summed, std::uint32_t capacity) {
  unlink(name);
  SegmentWriterConfig config;
  config.path = name;
  config.mode = mapped ? SegmentMode::kMapped : SegmentMode::kFileChannel;
  config.format = &Format(summed);
  config.capacity = config.reserve = capacity;
  config.index_interval = 64;
  config.force_later = true;
  SysError error;
  Model model{SegmentWriter::Create(config, &error), summed};
  DEMAND(model.writer != nullptr);
  model.id = appender->writers().Add(model.writer);
  return model;
}

struct Row {
  Model* model;
  Bytes wire;
  std::int32_t records;
};

Row MakeRow(Input* input, Model* models) {
  const std::uint32_t kind = input->U8();
  const std::uint32_t records = 1 + input->U8() % 40;
  const std::uint32_t size = input->U16();
  Row row{&models[kind & 1], {}, static_cast<std::int32_t>(records)};
  for (std::uint32_t i = 0; i < records; i++) {
    const std::uint32_t length = 1 + ((kind & 2) != 0 ? size % 30 : size + i * 7) % (kHighest / records);
    const std::size_t at = row.wire.size();
    row.wire.resize(at + 4 + length, static_cast<std::uint8_t>(1 + (size + i) % 255));
    PutAt(&row.wire, static_cast<std::int64_t>(at), length);
  }
  if ((kind & 0xC0) != 0xC0) return row;
  const std::uint32_t damage = input->U8();
  if (damage < 64)
    row.records += static_cast<std::int32_t>(damage) - 32;
  else if (damage < 128)
    row.wire.resize(row.wire.size() - std::min<std::size_t>(row.wire.size(), damage - 63));
  else
    row.wire[(damage * 31) % std::min<std::size_t>(row.wire.size(), 64)] ^= static_cast<std::uint8_t>(damage);
  return row;
}

/** What must become of it. */
AppendStatus Append(const Row& row) {
  Model& model = *row.model;
  const AppendStatus judged = Judge(row.wire, row.records, model.writer->max_payload());
  if (judged != AppendStatus::kOk) return judged;
  const Bytes stored = StoredAs(row.wire, model.summed);
  if (model.full || model.stored.size() + stored.size() > model.writer->reserved()) {
    model.full = true;
    return AppendStatus::kNoRoom;
  }
  model.stored.insert(model.stored.end(), stored.begin(), stored.end());
  return AppendStatus::kOk;
}

void Turn(Appender* appender, Input* input, Model* models) {
  std::vector<Row> rows;
  for (std::uint32_t count = input->U8() % 12; count > 0; count--) rows.push_back(MakeRow(input, models));
  std::vector<std::int32_t> table;
  // A source for each, of exactly its size.
  std::vector<Source> sources;
  for (const Row& row : rows) {
    const auto source = static_cast<std::int32_t>(sources.size());
    sources.push_back({row.wire.data(), row.wire.size()});
    const auto bytes = static_cast<std::int32_t>(row.wire.size());
    table.insert(table.end(), {row.model->id, source, 0, bytes, row.records, -1, -1, -1});
  }
  std::vector<std::uint32_t> index(kIndexRoom * kIndexOutColumns);
  const AppendResult result =
      appender->Run({table.data(), static_cast<std::uint32_t>(rows.size()), sources.data(),
                     static_cast<std::uint32_t>(sources.size()), index.data(), kIndexRoom});
  DEMAND(result.fault == TableFault::kNone && result.index_rows <= kIndexRoom);
  models[0].full = models[1].full = false;
  for (std::size_t i = 0; i < rows.size(); i++) {
    const AppendStatus expected = Append(rows[i]);
    DEMAND(table[i * kAppendColumns + append_column::kStatus] == static_cast<std::int32_t>(expected));
    const auto end = static_cast<std::int32_t>(rows[i].model->stored.size());
    DEMAND(table[i * kAppendColumns + append_column::kEnd] == end);
  }
}

void Compare(const Model& model) {
  DEMAND(model.writer->broken() == 0);
  DEMAND(model.writer->end() == model.stored.size());
  DEMAND(model.writer->Finish(false).code == 0);
  const int fd = model.writer->file()->fd();
  struct stat stat{};
  DEMAND(fstat(fd, &stat) == 0 && stat.st_size == static_cast<off_t>(model.stored.size()));
  Bytes there(model.stored.size());
  DEMAND(pread(fd, there.data(), there.size(), 0) == static_cast<ssize_t>(there.size()));
  DEMAND(there == model.stored);
}

/** Rows that name what is not there are refused before a byte is written. */
void TryFaults(Appender* appender, const Model& model, std::uint32_t which) {
  const Bytes wire = {0, 0, 0, 1, 7};
  const Source source{wire.data(), wire.size()};
  const std::int32_t wrong[][4] = {{-1, 0, 0, 5},        {model.id + 5, 0, 0, 5},
                                   {model.id, 1, 0, 5},  {model.id, -1, 0, 5},
                                   {model.id, 0, 1, 5},  {model.id, 0, -1, 5},
                                   {model.id, 0, 0, -1}, {model.id, 0, INT32_MAX, INT32_MAX}};
  const auto& bad = wrong[which % 8];
  std::int32_t table[2 * kAppendColumns] = {model.id, 0,      0,      5,      1,      -1, -1,
                                            -1,       bad[0], bad[1], bad[2], bad[3], 1};
  const AppendResult result = appender->Run({table, 2, &source, 1, nullptr, 0});
  DEMAND(result.fault != TableFault::kNone && result.row == 1);
}

void Run(Input input) {
  const std::uint32_t choices = input.U8();
  const std::uint32_t capacity = 64 + input.U16() * 3;
  Appender appender;
  Model models[] = {Made(&appender, "append-a", (choices & 1) != 0, (choices & 2) != 0, capacity),
                    Made(&appender, "append-b", (choices & 4) != 0, (choices & 8) != 0, capacity)};
  for (std::uint32_t turns = input.U8() % 4; turns > 0; turns--) {
    Turn(&appender, &input, models);
    TryFaults(&appender, models[0], choices >> 4);
  }
  for (const Model& model : models) Compare(model);
}

}  // namespace
}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::Run({data, size});
  return 0;
}
