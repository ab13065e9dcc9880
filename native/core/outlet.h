// Sends for connections: bytes straight from where they lie, slices of files by sendfile, and what a socket
// does not take now goes into the connection's queue. One for a selector. It leaves in `sending` why a
// connection stopped; what to watch for then, and whether to close, is the selector's decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/cold_reader.h"
#include "core/connection.h"

namespace millrace {

class Outlet {
 public:
  /** `zero_copy` false: slices are read into memory and sent. `counters` are those of selector_abi.h. */
  Outlet(ColdReader& cold, bool zero_copy, std::size_t turn_bytes, double* counters);

  /** A new turn: everybody has a whole budget again. */
  void NextTurn(std::uint32_t turn) { turn_ = turn; }
  void set_now(std::int64_t now_ms) { now_ms_ = now_ms; }

  /** `more`: the rest of this answer follows at once. */
  void SendBytes(Connection& connection, const std::uint8_t* bytes, std::size_t count, bool more);
  /** A slice with the bytes before it. When its pages are cold the bytes wait with it. */
  void SendSlice(Connection& connection, const std::uint8_t* header, std::size_t header_bytes, FilePtr file,
                 off_t position, std::size_t count);
  /** Sends what is queued. */
  void Pump(Connection& connection);

  /** What one system call moves at most, and what is probed at once. */
  static constexpr std::size_t kChunkBytes = ColdReader::kChunkBytes;
  /** The same on the heap path: what a full socket does not take has been read in vain. */
  static constexpr std::size_t kHeapChunkBytes = 128 * 1024;

 private:
  struct Slice {
    const FilePtr& file;
    off_t position;
    std::size_t left;
  };

  std::size_t Budget(Connection& connection) const;
  /** Whether the next chunk of a slice may be sent; else it is asked for. */
  bool IsWarm(Connection& connection, const Slice& slice, std::size_t chunk);
  /** Sends of a slice until it is done or `sending` says why not. Returns how much. */
  std::size_t PumpSlice(Connection& connection, Slice slice);
  bool PumpBytes(Connection& connection);
  ssize_t SendChunk(Connection& connection, const Slice& slice, std::size_t chunk);
  void Account(Connection& connection, std::size_t sent);
  static void Block(Connection& connection);
  void FailSend(Connection& connection, int error);

  ColdReader& cold_;
  const bool zero_copy_;
  const std::size_t chunk_bytes_;
  const std::size_t turn_bytes_;
  double* const counters_;
  std::unique_ptr<std::uint8_t[]> scratch_;
  std::uint32_t turn_ = 0;
  std::int64_t now_ms_ = 0;
};

}  // namespace millrace
