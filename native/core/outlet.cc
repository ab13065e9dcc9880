// See outlet.h. A short send is taken as "full" without asking again: the poller says when there is room, and
// if it was something else (the file ended) the next call says what.

#include "core/outlet.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/monotonic.h"
#include "core/socket.h"

namespace millrace {

namespace counter = selector_counter;

Outlet::Outlet(ColdReader& cold, SliceFailures& failures, bool zero_copy, std::size_t turn_bytes,
               std::int64_t send_us, double* counters)
    : cold_(cold),
      failures_(failures),
      zero_copy_(zero_copy),
      chunk_bytes_(zero_copy ? kChunkBytes : kHeapChunkBytes),
      turn_bytes_(turn_bytes),
      counters_(counters),
      scratch_(zero_copy ? nullptr : new std::uint8_t[kHeapChunkBytes]),
      send_us_(send_us) {}

void Outlet::NextTurn(std::uint32_t turn, std::int64_t now_us) {
  turn_ = turn;
  now_ms_ = now_us / 1000;
  slice_bytes_ = 0;
  run_ = queued_ = {};
  RestartTime(now_us);
}

void Outlet::RestartTime(std::int64_t now_us) {
  began_us_ = now_us;
  any_sent_ = over_ = false;
}

void Outlet::GoOn(std::int64_t now_us, bool slices_wait) {
  if (now_us - began_us_ >= send_us_) NextTurn(turn_, now_us);
  now_ms_ = now_us / 1000;
  run_ = queued_ = {};
  if (slices_wait) slice_bytes_ = kTurnShares * turn_bytes_;
}

bool Outlet::over() {
  // Read before each send, which takes a hundred times as long.
  if (!over_ && any_sent_) over_ = MonotonicUs() - began_us_ >= send_us_;
  return over_;
}

std::size_t Outlet::Budget(Connection& c) const {
  if (c.sent_turn != turn_) {
    c.sent_turn = turn_;
    c.sent_in_turn = 0;
  }
  return c.sent_in_turn < turn_bytes_ ? turn_bytes_ - c.sent_in_turn : 0;
}

void Outlet::Account(Connection& c, std::size_t sent) {
  (void)Budget(c);
  any_sent_ = true;
  c.sent_in_turn += sent;
  c.progress_ms = now_ms_;
  counters_[counter::kBytesOut] += static_cast<double>(sent);
}

void Outlet::Block(Connection& c) {
  c.sending = Sending::kBlocked;
  // While it waits for the peer the pages may go again, so they are asked for anew.
  c.warm_until = 0;
}

void Outlet::FailSend(Connection& c, int error) {
  c.Fail(IsPeerGone(error) ? CloseReason::kPeer : CloseReason::kSocketError);
}

void Outlet::SendBytes(Connection& c, const std::uint8_t* bytes, std::size_t count, bool more,
                       bool continues) {
  if (c.sending == Sending::kFailed || count == 0) return;
  if (c.out.empty()) {
    c.progress_ms = now_ms_;  // a stall is counted from here, not from the last answer an hour ago
    if (over()) {
      c.sending = Sending::kLate;
      return c.out.AppendBytes(bytes, count, continues);
    }
    const ssize_t sent = millrace::SendBytes(c.fd.get(), bytes, count, more);
    if (sent < 0 && !IsAgain(static_cast<int>(-sent))) return FailSend(c, static_cast<int>(-sent));
    if (sent > 0) {
      Account(c, static_cast<std::size_t>(sent));
      bytes += sent;
      count -= static_cast<std::size_t>(sent);
    }
    if (count == 0) return;
    Block(c);
  }
  c.out.AppendBytes(bytes, count, continues);
}

void Outlet::SendSlice(Connection& c, Header header, FilePtr file, off_t position, std::size_t count,
                       off_t run_until) {
  if (c.sending == Sending::kFailed) return;
  tried_file_ = nullptr;
  std::size_t sent = 0;
  if (c.out.empty()) {
    c.progress_ms = now_ms_;  // As in SendBytes, for what is sent with the bytes before it.
    if (over_slices()) {
      c.sending = Sending::kLate;
    } else if (const std::size_t chunk = std::min(count, chunk_bytes_);
               IsWarm(c, {file, position, count}, chunk, run_until)) {
      if (const int error = header.instead > 0 ? Try({file, position, count}, chunk) : 0) {
        TellFailure({file, position, count}, error, false);
        const std::uint8_t* const head = header.bytes + header.count - header.head;
        SendBytes(c, header.bytes, header.count - header.head, true, header.continues);
        SendBytes(c, head + header.head, header.instead, false);
        c.dropping = true;
        return;
      }
      const std::size_t first = NextChunk(c, count);
      if (first > 0 && header.count > 0 && HasRead({file, position, count}, first)) {
        const Sent both = SendWithChunk(c, header.bytes, header.count, first);
        if (c.sending == Sending::kFailed) return;
        c.out.AppendBytes(header.bytes + both.bytes, header.count - both.bytes, header.continues);
        sent = both.of_slice;
        if (sent == count) c.warm_until = 0;
      } else {
        SendBytes(c, header.bytes, header.count, true, header.continues);
      }
      header.count = 0;
      if (c.sending == Sending::kIdle && c.out.empty() && sent < count) {
        const auto rest = position + static_cast<off_t>(sent);
        sent += PumpSlice(c, {file, rest, count - sent}, run_until);
      }
      if (c.sending == Sending::kFailed) return;
    }
  }
  if (header.count > 0 && header.instead > 0) {
    const std::size_t before = header.count - header.head;
    c.out.AppendBytes(header.bytes, before, header.continues);
    c.out.AppendHead(header.bytes + before, header.head, header.instead);
  } else {
    c.out.AppendBytes(header.bytes, header.count, header.continues);
  }
  if (sent < count) c.out.AppendSlice(std::move(file), position + static_cast<off_t>(sent), count - sent);
}

bool Outlet::ReplaceNext(Connection& c, off_t position, int error) {
  if (c.out.empty()) return false;
  const auto& front = c.out.front();
  const auto& slice = front.is_slice() || front.next == nullptr ? front : *front.next;
  const bool replaceable = front.is_replaceable();
  if (slice.is_slice()) {
    const std::size_t before = static_cast<std::size_t>(position - slice.position);
    TellFailure({slice.file, position, slice.left - std::min(slice.left, before)}, error, !replaceable);
  }
  if (!replaceable) return false;
  c.dropping = c.out.ReplaceFront([this](FilePtr file) { cold_.Release(std::move(file)); });
  c.warm_until = 0;
  return true;
}

void Outlet::Pump(Connection& c) {
  c.sending = Sending::kIdle;
  tried_file_ = nullptr;
  queued_ = {};
  while (!c.out.empty()) {
    if (!c.out.front().is_slice()) {
      if (!PumpBytes(c)) return;
      continue;
    }
    const auto& front = c.out.front();
    const std::size_t sent = PumpSlice(c, {front.file, front.position, front.left}, RunUntil(front));
    if (c.sending == Sending::kFailed) return;
    ConsumeSlice(c, sent);
    if (c.sending != Sending::kIdle) return;
  }
}

void Outlet::ConsumeSlice(Connection& c, std::size_t sent) {
  if (sent == 0) return;
  FilePtr done;
  if (sent == c.out.front().left) done = c.out.front().file;
  c.out.Consume(sent);
  cold_.Release(std::move(done));
}

bool Outlet::PumpBoth(Connection& c, std::size_t chunk) {
  const auto& front = c.out.front();
  const Sent both = SendWithChunk(c, front.data(), front.left, chunk);
  if (c.sending == Sending::kFailed) return false;
  const bool is_whole = both.of_slice == front.next->left;
  if (both.bytes > 0) c.out.Consume(both.bytes);
  ConsumeSlice(c, both.of_slice);
  if (is_whole) c.warm_until = 0;
  return both.of_slice == chunk;
}

bool Outlet::HasSliceNext(Connection& c) {
  if (c.out.empty()) return false;
  const auto& front = c.out.front();
  return front.is_slice() || (front.next != nullptr && front.next->is_slice());
}

bool Outlet::PumpBytes(Connection& c) {
  const auto& front = c.out.front();
  const auto* const next = front.next.get();
  const bool before_slice = next != nullptr && next->is_slice();
  const std::size_t budget = Budget(c);
  if (budget == 0 || (before_slice ? over_slices() : over())) {
    c.sending = Sending::kLate;
    return false;
  }
  if (before_slice) {
    const std::size_t chunk = std::min(next->left, chunk_bytes_);
    const Slice slice{next->file, next->position, next->left};
    if (!IsWarm(c, slice, chunk, RunUntil(*next))) return false;
    if (const int error = front.is_replaceable() ? Try(slice, chunk) : 0) {
      return ReplaceNext(c, slice.position, error);
    }
  }
  const std::size_t part = std::min(front.left, budget);
  if (before_slice && part == front.left) {
    const std::size_t chunk = NextChunk(c, next->left);
    if (chunk > 0 && HasRead({next->file, next->position, next->left}, chunk)) return PumpBoth(c, chunk);
  }
  const ssize_t sent = millrace::SendBytes(c.fd.get(), front.data(), part, next != nullptr);
  if (sent < 0 && !IsAgain(static_cast<int>(-sent))) {
    FailSend(c, static_cast<int>(-sent));
    return false;
  }
  if (sent > 0) {
    Account(c, static_cast<std::size_t>(sent));
    c.out.Consume(static_cast<std::size_t>(sent));
  }
  if (sent == static_cast<ssize_t>(part)) return true;
  Block(c);
  return false;
}

}  // namespace millrace
