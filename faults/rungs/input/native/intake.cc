// A connection that is read in turns: whatever comes in which pieces, however it is held back and taken up
// again, what is handed over are the frames of the stream, and what is kept is in proportion to what arrived.
//
//   u8 longest frame | u8 bounds | u8 items | items × (u8 kind | u16 size) | steps

#include "core/intake.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "kit.h"

namespace millrace::fuzz {
namespace {

constexpr std::size_t kBudgets[] = {1, 100, 4096, 65536};
constexpr std::uint32_t kLongest[] = {16, 1000, 70'000, 200'000};
constexpr std::uint32_t kRequests[] = {1, 2, 8, 1000};
constexpr std::uint32_t kRows[] = {1, 3, 17, 100};
constexpr std::size_t kStreamMax = 600'000;

struct Stream {
  std::string bytes;
  std::vector<std::string> frames;
  bool bad = false;
};

void AddFrame(Stream* stream, std::uint32_t length, std::size_t contents) {
  for (int shift = 24; shift >= 0; shift -= 8) stream->bytes.push_back(static_cast<char>(length >> shift));
  std::string pattern(contents, '\0');
  for (std::size_t i = 0; i < contents; i++) pattern[i] = static_cast<char>(i * 131 + contents + (i >> 8));
  stream->bytes += pattern;
  stream->frames.push_back(pattern);
}

/** Frames that are right, and at most one thing that is not: the end of what anybody can make sense of. */
Stream MakeStream(Input* input, std::uint32_t longest) {
  Stream stream;
  for (std::uint32_t items = input->U8(); items > 0 && !stream.bad && stream.bytes.size() < kStreamMax;
       items--) {
    const std::uint32_t kind = input->U8();
    const std::uint32_t size = input->U16();
    if (kind < 250) {
      const std::uint32_t length = 1 + (size * (1 + kind % 4)) % longest;
      AddFrame(&stream, length, length);
      continue;
    }
    const std::uint32_t lengths[] = {0,           longest + 1, 0x80000000u,
                                     0xFFFFFFFFu, 0x7FFFFFFFu, 0x80000000u | size};
    AddFrame(&stream, lengths[kind - 250], size % 100);
    stream.frames.pop_back();
    stream.bad = true;
  }
  return stream;
}

class Play {
 public:
  Play(std::uint32_t longest, std::uint32_t requests_max, std::uint32_t rows_max)
      : requests_max_(requests_max),
        arena_(longest + 4 + 65536),
        rows_(rows_max * kFrameColumns),
        intake_(arena_.data(), arena_.size(), rows_.data(), rows_max, longest, requests_max) {
    int pair[2];
    DEMAND(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    connection_.fd = Fd(pair[0]);
    peer_ = Fd(pair[1]);
    connection_.id = 7;
    connection_.state = ConnectionState::kOpen;
  }

  /** How many bytes went. */
  std::size_t Send(const std::string& bytes, std::size_t from, std::size_t count) {
    const ssize_t sent =
        send(peer_.get(), bytes.data() + from, std::min(count, bytes.size() - from), MSG_NOSIGNAL);
    sent_ += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }

  /** Whether anything moved. */
  bool Turn(std::size_t budget, bool whole_only) {
    if (ended_) return false;
    intake_.Reset();
    // The selector asks for whole frames only where nothing is held.
    const bool whole = whole_only && connection_.gather.empty();
    const IntakeResult result = intake_.Read(connection_, budget, ++now_, whole);
    for (std::uint32_t i = 0; i < intake_.rows(); i++) {
      const std::int32_t* row = &rows_[i * kFrameColumns];
      DEMAND(row[frame_column::kConnection] == 7);
      const std::int64_t from = row[frame_column::kOffset];
      const std::int64_t length = row[frame_column::kLength];
      DEMAND(from >= 4 && length >= 1 && from + length <= static_cast<std::int64_t>(arena_.size()));
      frames.emplace_back(arena_.begin() + from, arena_.begin() + from + length);
    }
    DEMAND(result.stop != IntakeStop::kError && result.stop != IntakeStop::kEndOfStream);
    DEMAND(connection_.open <= requests_max_);
    // Twice what is held, and what may be kept of what was.
    DEMAND(connection_.gather.capacity() <= 4 * connection_.gather.size() + 17'000);
    DEMAND(connection_.gather.size() <= sent_);
    ended_ = result.stop == IntakeStop::kBadLength;
    return intake_.rows() > 0 || result.received > 0;
  }

  void Complete(std::uint32_t requests) { connection_.open -= std::min(connection_.open, requests); }
  bool ended() const { return ended_; }

  std::vector<std::string> frames;

 private:
  const std::uint32_t requests_max_;
  Bytes arena_;
  std::vector<std::int32_t> rows_;
  Intake intake_;
  Connection connection_;
  Fd peer_;
  std::int64_t now_ = 1000;
  std::size_t sent_ = 0;
  bool ended_ = false;
};

void Run(Input input) {
  const std::uint32_t longest = kLongest[input.U8() % 4];
  const std::uint32_t bounds = input.U8();
  Play play(longest, kRequests[bounds % 4], kRows[bounds / 4 % 4]);
  const Stream stream = MakeStream(&input, longest);
  std::size_t sent = 0;
  while (input.left() > 0) {
    const std::uint32_t step = input.U8();
    const std::size_t how_much = step >> 2;
    if (step % 4 == 0) sent += play.Send(stream.bytes, sent, 1 + how_much);
    if (step % 4 == 1) sent += play.Send(stream.bytes, sent, 1 + how_much * 1024);
    if (step % 4 == 2) play.Turn(kBudgets[how_much % 4], (how_much & 8) != 0);
    if (step % 4 == 3) play.Complete(how_much == 0 ? UINT32_MAX : static_cast<std::uint32_t>(how_much));
  }
  for (int idle = 0; idle < 3 && !play.ended();) {
    const std::size_t more = play.Send(stream.bytes, sent, SIZE_MAX);
    sent += more;
    play.Complete(UINT32_MAX);
    idle = play.Turn(65536, false) || more > 0 ? 0 : idle + 1;
  }
  DEMAND(play.frames == stream.frames);
  DEMAND(play.ended() == stream.bad);
}

}  // namespace
}  // namespace millrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::fuzz::Run({data, size});
  return 0;
}
