// Sends for connections: bytes straight from where they lie, slices of files by sendfile, and what a socket
// does not take now goes into the connection's queue. One for a selector. It leaves in `sending` why a
// connection stopped; what to watch for then, and whether to close, is the selector's decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/cold_reader.h"
#include "core/connection.h"
#include "core/slice_failures.h"

namespace millrace {

/** A part of a file in which slices lie behind each other. */
struct SliceRun {
  const File* file = nullptr;  // only compared
  off_t from = 0;
  off_t until = 0;

  bool Has(const File* of, off_t position, std::size_t bytes) const {
    return file == of && from <= position && position + static_cast<off_t>(bytes) <= until;
  }
};

class Outlet {
 public:
  /** `zero_copy` false: slices are read into memory and sent. `counters` are those of selector_abi.h. */
  Outlet(ColdReader& cold, SliceFailures& failures, bool zero_copy, std::size_t turn_bytes,
         std::int64_t send_us, double* counters);

  /** A new turn: everybody has a whole budget again, and all together `send_us`. */
  void NextTurn(std::uint32_t turn, std::int64_t now_us);
  /**
   * More is sent in a turn, or between two: in what is left of the time, or, if that is long over, as in a
   * new one. `slices_wait`: some were too late before, so new ones have to wait behind them.
   */
  void GoOn(std::int64_t now_us, bool slices_wait);
  /** The time begins anew: those who wait for a few bytes have their own, however long the slices took. */
  void RestartTime(std::int64_t now_us);
  /** The time for sending is over: whoever comes now is put off. Something is sent in any case. */
  bool over();
  /** The same for slices, which also have a number of bytes for all: whoever waits for a few bytes then waits
   * for no more than that. */
  bool over_slices() { return slice_bytes_ >= kTurnShares * turn_bytes_ || over(); }
  /** A slice, or what stands before one, is what this connection sends next. */
  static bool HasSliceNext(Connection& connection);

  /** `more`: the rest of this answer follows at once. */
  void SendBytes(Connection& connection, const std::uint8_t* bytes, std::size_t count, bool more,
                 bool continues = false);
  /** What stands before a slice. */
  struct Header {
    const std::uint8_t* bytes;
    std::size_t count;
    /** So many of them, the last, begin the slice's answer, and this many behind them are sent instead of it
     * when it cannot be read and nothing of it has left. Both 0: nothing is. */
    std::size_t head;
    std::size_t instead;
    /** All of them belong to the answer that was begun before. */
    bool continues;
  };
  /** A slice with the bytes before it. When its pages are cold the bytes wait with it. Up to `run_until` of
   * the same file goes on what comes next on this connection. */
  void SendSlice(Connection& connection, Header header, FilePtr file, off_t position, std::size_t count,
                 off_t run_until);
  /** The slice that a connection sends next could not be read in. False: part of its answer has left, and
   * there is no other way than to close. */
  bool ReplaceNext(Connection& connection, off_t position, int error);
  /** Sends what is queued. */
  void Pump(Connection& connection);

  /** What one system call moves at most, and what is probed at once. */
  static constexpr std::size_t kChunkBytes = ColdReader::kChunkBytes;
  /** So many connections have their whole share of slices in a turn. */
  static constexpr std::size_t kTurnShares = 2;
  /** What is read ahead of a reader in sequence, so that the disk works while the socket is served. */
  static constexpr std::size_t kAheadBytes = ColdReader::kChunkBytes;
  /** The same on the heap path: what a full socket does not take has been read in vain. */
  static constexpr std::size_t kHeapChunkBytes = 128 * 1024;

 private:
  struct Slice {
    const FilePtr& file;
    off_t position;
    std::size_t left;
  };

  std::size_t Budget(Connection& connection) const;
  /** How much of a slice goes next; 0: its connection had its share. */
  std::size_t NextChunk(Connection& connection, std::size_t left) const;
  /** Whether the next chunk of a slice may be sent; else it is asked for. */
  bool IsWarm(Connection& connection, const Slice& slice, std::size_t chunk, off_t run_until);
  /** Whether it lies in the cache. It leaves in `begins_` whether its beginning was read. */
  bool IsCached(const Slice& slice, std::size_t chunk, off_t run_until);
  /** Where the slices end that lie behind each other in the file as they do in the queue. */
  off_t RunUntil(const OutputQueue::Chunk& slice);
  /** Sends of a slice until it is done or `sending` says why not. Returns how much. */
  std::size_t PumpSlice(Connection& connection, Slice slice, off_t run_until);
  bool PumpBytes(Connection& connection);
  /** The same with a chunk of the slice behind them that was read. */
  bool PumpBoth(Connection& connection, std::size_t chunk);
  void ConsumeSlice(Connection& connection, std::size_t sent);
  struct Sent {
    std::size_t bytes;
    std::size_t of_slice;
  };
  /** Bytes and what was read of the slice behind them, in one call. */
  Sent SendWithChunk(Connection& connection, const std::uint8_t* bytes, std::size_t count, std::size_t chunk);
  ssize_t SendChunk(Connection& connection, const Slice& slice, std::size_t chunk);
  /** Whether a slice can be read, as far as its first chunk tells: 0, an errno or kFileEnded. */
  int Try(const Slice& slice, std::size_t chunk);
  void NoteRead(const Slice& slice, std::size_t bytes);
  bool HasRead(const Slice& slice, std::size_t chunk) const;
  void TellFailure(const Slice& slice, int error, bool closes);
  void FailSlice(Connection& connection, const Slice& slice, int error);
  void Account(Connection& connection, std::size_t sent);
  static void Block(Connection& connection);
  void FailSend(Connection& connection, int error);

  ColdReader& cold_;
  SliceFailures& failures_;
  const bool zero_copy_;
  const std::size_t chunk_bytes_;
  const std::size_t turn_bytes_;
  double* const counters_;
  std::unique_ptr<std::uint8_t[]> scratch_;
  /** What `scratch_` holds for the send that is under way. Only compared. */
  const File* tried_file_ = nullptr;
  off_t tried_position_ = 0;
  std::size_t tried_bytes_ = 0;
  /**
   * What was last found in the cache, a run of slices at once: asking for each costs as much as sending it
   * does. Known for one go alone, as pages leave the cache at any time.
   */
  SliceRun run_;
  /** The run that was last looked for in the queue of the connection that sends. */
  SliceRun queued_;
  /** The slice that was looked at last can be read, as far as its beginning tells. */
  bool begins_ = false;
  const std::int64_t send_us_;
  std::uint32_t turn_ = 0;
  std::int64_t now_ms_ = 0;
  std::int64_t began_us_ = 0;
  std::size_t slice_bytes_ = 0;
  bool any_sent_ = false;
  bool over_ = false;
};

}  // namespace millrace
