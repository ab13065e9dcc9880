// Answers. Rows of one connection that lie behind each other in the reply arena leave in one send, straight
// from there.

#include <algorithm>

#include "core/selector.h"

namespace millrace {

namespace column = flush_column;

namespace {
const std::int32_t* Row(const SelectorTables& tables, std::uint32_t row) {
  return tables.flushes + static_cast<std::size_t>(row) * kFlushColumns;
}

/** Where the slices end that lie behind each other in their file as their rows do. */
off_t RunUntil(const SelectorTables& tables, std::uint32_t row, std::uint32_t end, std::size_t turn_bytes) {
  const std::int32_t* const first = Row(tables, row);
  const off_t enough = off_t{first[column::kPosition]} + static_cast<off_t>(turn_bytes);
  off_t until = off_t{first[column::kPosition]} + first[column::kSliceBytes];
  for (row++; row < end && until < enough; row++) {
    const std::int32_t* const next = Row(tables, row);
    if (next[column::kFile] != first[column::kFile] || next[column::kPosition] < first[column::kPosition] ||
        next[column::kPosition] > until) {
      break;
    }
    until = std::max(until, off_t{next[column::kPosition]} + next[column::kSliceBytes]);
  }
  return until;
}
}  // namespace

std::int64_t Selector::CheckFlush(std::uint32_t rows, std::size_t files) const {
  for (std::uint32_t i = 0; i < rows; i++) {
    const std::int32_t* const row = Row(tables_, i);
    const std::int32_t offset = row[column::kOffset];
    const std::int32_t length = row[column::kLength];
    bool sound = length >= 0 && row[column::kCompleted] >= 0;
    if (length > 0) {
      sound = sound && offset >= 0 &&
              static_cast<std::size_t>(offset) + static_cast<std::size_t>(length) <= tables_.replies_bytes;
    }
    const std::int32_t head = row[column::kHead];
    const std::int32_t instead = row[column::kInstead];
    sound = sound && head >= 0 && head <= length && instead >= 0;
    // They lie behind the bytes, and stand for an answer that begins with some of them and is not one of
    // before.
    if (sound && instead > 0) {
      sound = head > 0 && row[column::kFile] >= 0 && row[column::kSliceBytes] > 0 &&
              row[column::kContinues] == 0 &&
              static_cast<std::size_t>(offset) + static_cast<std::size_t>(length) +
                      static_cast<std::size_t>(instead) <=
                  tables_.replies_bytes;
    }
    const std::int32_t file = row[column::kFile];
    if (file >= 0) {
      sound = sound && static_cast<std::size_t>(file) < files && row[column::kPosition] >= 0 &&
              row[column::kSliceBytes] >= 0;
    }
    if (!sound) return i;
  }
  return -1;
}

void Selector::Flush(std::uint32_t rows, const std::vector<FilePtr>& files) {
  const std::int64_t now_us = MonotonicUs();
  now_ms_ = now_us / 1000;
  outlet_.GoOn(now_us, !late_slices_.empty());
  for (std::uint32_t begin = 0; begin < rows;) {
    const std::int32_t id = Row(tables_, begin)[column::kConnection];
    std::uint32_t end = begin + 1;
    while (end < rows && Row(tables_, end)[column::kConnection] == id) end++;
    Connection* const c = connections_.Find(id);
    if (c != nullptr && c->takes_replies()) FlushConnection(*c, begin, end, files);
    begin = end;
  }
  CheckQueued();
  LetOldestGatherOn();
  Publish();
}

void Selector::FlushConnection(Connection& c, std::uint32_t begin, std::uint32_t end,
                               const std::vector<FilePtr>& files) {
  // Bytes that were not handed on yet, because what follows may lie right behind them.
  const std::uint8_t* run = nullptr;
  std::size_t run_bytes = 0;
  bool run_continues = false;
  // Slices behind each other, looked for once for all of them.
  SliceRun slices;
  for (std::uint32_t i = begin; i < end; i++) {
    const std::int32_t* const row = Row(tables_, i);
    c.open -= std::min(c.open, static_cast<std::uint32_t>(row[column::kCompleted]));
    const bool continues = row[column::kContinues] != 0;
    if (!continues) c.dropping = false;
    if (c.dropping) continue;
    if (row[column::kLength] > 0) {
      const std::uint8_t* const bytes = tables_.replies + row[column::kOffset];
      const auto length = static_cast<std::size_t>(row[column::kLength]);
      if (run_bytes > 0 && run + run_bytes == bytes && run_continues == continues) {
        run_bytes += length;
      } else {
        outlet_.SendBytes(c, run, run_bytes, true, run_continues);
        run = bytes;
        run_bytes = length;
        run_continues = continues;
      }
    }
    if (row[column::kFile] >= 0 && row[column::kSliceBytes] > 0) {
      const Outlet::Header header{run, run_bytes, static_cast<std::size_t>(row[column::kHead]),
                                  static_cast<std::size_t>(row[column::kInstead]), run_continues};
      const FilePtr& file = files[static_cast<std::size_t>(row[column::kFile])];
      const off_t position = row[column::kPosition];
      const auto bytes = static_cast<std::size_t>(row[column::kSliceBytes]);
      if (!slices.Has(file.get(), position, bytes)) {
        slices = {file.get(), position, RunUntil(tables_, i, end, options_.turn_bytes_out)};
      }
      outlet_.SendSlice(c, header, file, position, bytes, slices.until);
      run_bytes = 0;
    }
  }
  outlet_.SendBytes(c, run, run_bytes, false, run_continues);
  c.active_ms = now_ms_;
  AfterSend(c);
}

/**
 * Before anybody else sends: the poller reports the same connections first in each turn, and those would send
 * all the time. Slices go first, as there is little room for them in a turn; whoever waits for a few bytes
 * only waits for that.
 */
void Selector::PumpLate() {
  for (std::size_t left = late_slices_.size(); left > 0 && !outlet_.over_slices(); left--) {
    PumpNext(&late_slices_);
  }
  if (late_bytes_.empty()) return;
  outlet_.RestartTime(MonotonicUs());
  for (std::size_t left = late_bytes_.size(); left > 0 && !outlet_.over(); left--) PumpNext(&late_bytes_);
}

void Selector::PumpNext(std::deque<std::int32_t>* late) {
  Connection* const c = connections_.Find(late->front());
  late->pop_front();
  if (c == nullptr || !c->in_late) return;
  c->in_late = false;
  PumpOut(*c);
}

void Selector::PushLate(Connection& c) {
  if (c.in_late) return;
  c.in_late = true;
  (Outlet::HasSliceNext(c) ? late_slices_ : late_bytes_).push_back(c.id);
}

void Selector::PumpOut(Connection& c) {
  if (c.sending == Sending::kCold) return;
  outlet_.Pump(c);
  AfterSend(c);
}

/** Whatever follows from having sent something, or from not having been able to. */
void Selector::AfterSend(Connection& c) {
  Recount(c);
  if (c.sending == Sending::kFailed) {
    const bool of_file = c.failure == CloseReason::kFileShort || c.failure == CloseReason::kFileError;
    return CloseNow(c, of_file || c.state == ConnectionState::kOpen ? c.failure : c.reason);
  }
  if (c.sending == Sending::kLate) PushLate(c);
  CheckOutput(c);
  GoOnWithHeld(c);
  // When requests crowd no longer it may have more. Where it had as many before they did, nothing else would
  // tell it.
  if (crowded_ && c.state == ConnectionState::kOpen && !MayTake(c)) PauseReading(c, Pause::kForAnswers);
  Rearm(c);
  SettleEnd(c);
}

}  // namespace millrace
