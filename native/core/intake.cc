// See intake.h for why nothing here is quadratic.

#include "core/intake.h"

#include <algorithm>
#include <cstring>

#include "core/socket.h"

namespace millrace {

namespace {
// From this size on an incomplete frame is received straight into its gather buffer, in steps as large as
// what is there, so that memory follows what arrived. Below it the arena is used, and an announcement alone
// costs no memory.
constexpr std::size_t kStraightFrom = 64 * 1024;
// With less room than this in the arena a receive is not worth its system call.
constexpr std::size_t kRoomWorthReceiving = 16 * 1024;

IntakeResult Failed(ssize_t result, std::size_t received) {
  if (result == 0) return {IntakeStop::kEndOfStream, 0, received};
  const int error = static_cast<int>(-result);
  return {IsAgain(error) ? IntakeStop::kWait : IntakeStop::kError, error, received};
}
}  // namespace

Intake::Intake(std::uint8_t* arena, std::size_t arena_bytes, std::int32_t* rows, std::uint32_t rows_max,
               std::uint32_t max_frame_bytes, std::uint32_t requests_max)
    : arena_(arena),
      arena_bytes_(arena_bytes),
      turn_bytes_(arena_bytes - max_frame_bytes - kFramePrefixBytes),
      table_(rows),
      rows_max_(rows_max),
      max_frame_bytes_(max_frame_bytes),
      requests_max_(requests_max) {}

IntakeResult Intake::Read(Connection& c, std::size_t budget, std::int64_t now_ms, bool whole_only) {
  const std::uint32_t rows_before = rows_;
  IntakeResult result{!c.gather.empty() ? TakeHeld(c) : IntakeStop::kWait};
  if (result.stop == IntakeStop::kWait && c.open >= requests_max_) result.stop = IntakeStop::kRequests;
  if (result.stop == IntakeStop::kWait && budget > 0) {
    // What is not received now stays in the socket.
    if (full())
      result.stop = IntakeStop::kBacklog;
    else
      result = whole_only ? ReceiveWhole(c, std::min(budget, kWholeBytes)) : Receive(c, budget);
  }
  // The beginning of a frame waits for answers as whole frames do. It must not count as one that goes on when
  // its bytes come, nor be late.
  const bool at_bound = c.open >= requests_max_ && !c.gather.empty();
  if (result.stop == IntakeStop::kWait && at_bound) result.stop = IntakeStop::kRequests;
  // The clock of a frame starts with its first byte, also where that stays in the socket: whoever sends no
  // more would be kept there for as long as others fill the room, and so would one that is gone, since its
  // end lies behind what is not taken.
  const bool part = !c.gather.empty() || result.left == Left::kPart;
  const bool took = rows_ != rows_before;
  if (part && (!c.part || took)) c.frame_since_ms = now_ms;
  // What was not looked at this time is still there.
  if (part || took || result.left == Left::kLargePart) c.part = part;
  return result;
}

CutStop Intake::Cut(Connection& c, const std::uint8_t* data, std::size_t bytes, std::size_t* taken) {
  const std::uint32_t rows_max = std::min(requests_max_ - c.open, rows_max_ - rows_);
  const CutResult cut = CutFrames(data, bytes, max_frame_bytes_, c.id, used_,
                                  table_ + static_cast<std::size_t>(rows_) * kFrameColumns, rows_max);
  rows_ += cut.frames;
  c.open += cut.frames;
  *taken = cut.bytes;
  return cut.stop;
}

IntakeStop Intake::StopFor(CutStop stop, const Connection& c) const {
  if (stop == CutStop::kBadLength) return IntakeStop::kBadLength;
  if (stop == CutStop::kIncomplete) return IntakeStop::kWait;
  return c.open >= requests_max_ ? IntakeStop::kRequests : IntakeStop::kBacklog;
}

IntakeStop Intake::TakeHeld(Connection& c) {
  // Cut where it lies and copy only what was cut: what stays behind is not touched, however often this is
  // called.
  const std::size_t visible = std::min(c.gather.size(), arena_bytes_ - used_);
  std::size_t taken = 0;
  CutStop stop = Cut(c, c.gather.data(), visible, &taken);
  std::memcpy(arena_ + used_, c.gather.data(), taken);
  used_ += taken;
  const bool all_seen = visible == c.gather.size();
  c.gather.Consume(taken);
  if (stop == CutStop::kIncomplete && !all_seen) {
    // It may be whole beyond what the arena had room for.
    const std::size_t total = FrameTotal(c.gather.data(), c.gather.size());
    if (total != 0 && total <= c.gather.size()) stop = CutStop::kFull;
  }
  return StopFor(stop, c);
}

IntakeResult Intake::Receive(Connection& c, std::size_t budget) {
  const std::size_t held = c.gather.size();
  const std::size_t total = FrameTotal(c.gather.data(), held);
  if (held >= kStraightFrom && total - held > budget) return ReceiveStraight(c, budget);

  // Room is left in front for what is held, in case that the frame becomes complete.
  const std::size_t room = arena_bytes_ - used_;
  if (room < held + std::min(budget, kRoomWorthReceiving)) return {IntakeStop::kBacklog};
  std::uint8_t* const front = arena_ + used_;
  const ssize_t got = ReceiveBytes(c.fd.get(), front + held, std::min(budget, room - held));
  if (got <= 0) return Failed(got, 0);
  const auto received = static_cast<std::size_t>(got);

  if (total != 0 && held + received < total) {
    c.gather.Append(front + held, received, total);
    return {IntakeStop::kWait, 0, received};
  }
  // Complete, or so little is held (a part of a prefix) that putting it in front costs nothing.
  if (held > 0) std::memcpy(front, c.gather.data(), held);
  c.gather.Consume(held);
  std::size_t taken = 0;
  const CutStop stop = Cut(c, front, held + received, &taken);
  used_ += taken;
  const std::size_t rest = held + received - taken;
  if (stop != CutStop::kBadLength) c.gather.Append(front + taken, rest);
  return {StopFor(stop, c), 0, received};
}

IntakeResult Intake::ReceiveWhole(Connection& c, std::size_t budget) {
  const std::size_t wanted = std::min(budget, arena_bytes_ - used_);
  if (wanted < std::min(budget, kRoomWorthReceiving)) return {IntakeStop::kBacklog};
  std::uint8_t* const front = arena_ + used_;
  const ssize_t seen = PeekBytes(c.fd.get(), front, wanted);
  if (seen <= 0) return Failed(seen, 0);
  const auto there = static_cast<std::size_t>(seen);
  std::size_t taken = 0;
  const CutStop stop = Cut(c, front, there, &taken);
  used_ += taken;
  for (std::size_t received = 0; received < taken;) {
    const ssize_t got = ReceiveBytes(c.fd.get(), front + received, taken - received);
    if (got <= 0) return Failed(got, received);
    received += static_cast<std::size_t>(got);
  }
  IntakeResult result{StopFor(stop, c), 0, taken};
  // As long as something was taken there may be more behind it, and it is looked at again.
  if (stop == CutStop::kIncomplete && taken == 0) {
    const std::size_t total = FrameTotal(front, there);
    if (total > wanted && wanted < budget)
      result.stop = IntakeStop::kBacklog;
    else
      result.left = total > budget ? Left::kLargePart : Left::kPart;
  }
  return result;
}

IntakeResult Intake::ReceiveStraight(Connection& c, std::size_t bytes) {
  const std::size_t total = FrameTotal(c.gather.data(), c.gather.size());
  std::size_t received = 0;
  while (received < bytes) {
    const std::size_t part = std::min(bytes - received, c.gather.size());
    const ssize_t got = ReceiveBytes(c.fd.get(), c.gather.Room(part, total), part);
    if (got <= 0) return Failed(got, received);
    c.gather.Commit(static_cast<std::size_t>(got));
    received += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < part) break;
  }
  return {IntakeStop::kWait, 0, received};
}

}  // namespace millrace
