// The buffer has a fixed size and stays in the processor's cache: a large group is several writes of that
// size, not one buffer that grows with what a producer sends.

#include "core/gather.h"

#include <cerrno>
#include <cstring>

#include "core/bytes.h"
#include "core/io.h"

namespace millrace {
namespace {

constexpr std::size_t kBufferBytes = 256 * 1024;
/** From here on a vector of its own is cheaper than the copy. */
constexpr std::uint32_t kDirectBytes = 8 * 1024;
/** Parts that are collected before they are written; one call takes 1024. */
constexpr std::size_t kPartsMax = 1024;

}  // namespace

Gather::Gather(int fd, off_t position, const RecordFormat& format, WriteScratch* scratch)
    : fd_(fd), position_(position), format_(format), scratch_(scratch) {
  scratch_->parts.clear();
}

int Gather::Add(const Batch& batch) {
  if (format_.stored_as_wire) {
    Point(batch.wire, batch.wire_bytes);
    return scratch_->parts.size() < kPartsMax ? 0 : Flush();
  }
  if (!scratch_->bytes) scratch_->bytes.reset(new std::uint8_t[kBufferBytes]);
  // Many long payloads are seen at once by the average.
  if (batch.stored_bytes > kBufferBytes || batch.stored_bytes / batch.records > kDirectBytes)
    return AddOneByOne(batch);
  if (const int code = MakeRoom(batch.stored_bytes)) return code;
  std::uint8_t* const out = scratch_->bytes.get() + used_;
  format_.encode(batch.wire, batch.wire_bytes, batch.records, out);
  std::memcpy(out, batch.wire, kLengthBytes);
  used_ += batch.stored_bytes;
  return 0;
}

int Gather::AddOneByOne(const Batch& batch) {
  const std::uint8_t* at = batch.wire;
  std::uint32_t left = batch.wire_bytes;
  for (std::uint32_t i = 0; i < batch.records; i++) {
    // Memory that is shared may have changed since it was checked. Nothing sensible can be stored then.
    if (left < kWireHeader) return EINVAL;
    const std::uint32_t size = LoadBigEndian32(at);
    at += kWireHeader;
    left -= kWireHeader;
    if (size > left) return EINVAL;
    left -= size;
    const bool direct = size > kDirectBytes;
    if (const int code = MakeRoom(format_.header_bytes + (direct ? 0 : size))) return code;
    std::uint8_t* const out = scratch_->bytes.get() + used_;
    format_.write_header(at, size, out);
    used_ += format_.header_bytes;
    if (direct) {
      CloseRun();
      Point(at, size);
    } else {
      std::memcpy(out + format_.header_bytes, at, size);
      used_ += size;
    }
    at += size;
  }
  return left == 0 ? 0 : EINVAL;
}

int Gather::MakeRoom(std::size_t bytes) {
  return used_ + bytes > kBufferBytes || scratch_->parts.size() + 2 > kPartsMax ? Flush() : 0;
}

void Gather::CloseRun() {
  if (used_ > run_start_) Point(scratch_->bytes.get() + run_start_, used_ - run_start_);
  run_start_ = used_;
}

void Gather::Point(const void* at, std::size_t bytes) {
  scratch_->parts.push_back({const_cast<void*>(at), bytes});
  pending_ += bytes;
}

int Gather::Flush() {
  CloseRun();
  if (pending_ == 0) return 0;
  const int code = WriteVectorsAt(fd_, scratch_->parts.data(), scratch_->parts.size(), position_);
  position_ += static_cast<off_t>(pending_);
  pending_ = used_ = run_start_ = 0;
  scratch_->parts.clear();
  return code;
}

}  // namespace millrace
