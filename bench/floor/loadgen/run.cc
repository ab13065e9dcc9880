#include "loadgen/run.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace bench {
namespace {

constexpr int kEvents = 256;
// A shorter sleep than this ends later than asked; the schedule is kept by looking again instead.
constexpr int64_t kShortestSleepNs = 5000;
// The longest wait for answers, so that the end of the time and a broker that is stuck are noticed.
constexpr int64_t kPatienceNs = 100'000'000;

}  // namespace

Run::Run(const LoadOptions& options) : options_(options) {}

Run::~Run() {
  if (epoll_ >= 0) close(epoll_);
}

void Run::Open() {
  prctl(PR_SET_TIMERSLACK, 1);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  for (uint32_t i = 0; i < options_.connections; i++) {
    connections_.push_back(std::make_unique<Connection>(options_, i));
    connections_[i]->Open();
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.u32 = i;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i]->socket(), &event);
  }
}

void Run::Go() {
  const CpuTime cpu_before = CpuTime::OfThisProcess();
  start_ns_ = NowNs();
  const auto warmup_ns = static_cast<uint64_t>(options_.warmup_seconds * 1e9);
  tally_ = std::make_unique<Tally>(options_.timeline_ms * 1000000, start_ns_ + warmup_ns);
  if (options_.seconds > 0) end_ns_ = tally_->from_ns + static_cast<uint64_t>(options_.seconds * 1e9);
  if (options_.rate > 0) {
    GoOpen();
  } else if (options_.api == Api::kProduce && options_.ack == 0) {
    GoUnacknowledged();
  } else {
    GoClosed();
  }
  Drain();
  finished_ns_ = std::max(tally_->last_answer_ns, tally_->from_ns + 1);
  if (schedule_) finished_ns_ = std::max(finished_ns_, schedule_->EndNs());
  cpu_ = CpuTime::OfThisProcess() - cpu_before;
}

bool Run::MayIssue(uint64_t now) {
  if (now >= end_ns_ || (options_.requests != 0 && issued_ >= options_.requests)) stopping_ = true;
  if (stopping_) return false;
  issued_++;
  return true;
}

void Run::GoClosed() {
  for (auto& connection : connections_) {
    const uint64_t now = NowNs();
    while (connection->HasRoom() && MayIssue(now)) connection->Issue(now);
    connection->Send();
  }
  while (!stopping_) Turn(kPatienceNs);
}

void Run::GoOpen() {
  const double seconds = options_.warmup_seconds + options_.seconds;
  const uint64_t total =
      options_.requests != 0 ? options_.requests : static_cast<uint64_t>(options_.rate * seconds);
  schedule_ = std::make_unique<Schedule>(options_.rate, std::max<uint64_t>(total, 1), start_ns_);
  for (uint32_t i = 0; i < options_.connections; i++) next_of_.push_back(i);
  while (issued_ < schedule_->total()) {
    const uint64_t now = NowNs();
    const uint64_t due = schedule_->DueAt(now);
    // Only connections that have something new to send are looked at; those at their bound go on when an
    // answer comes.
    const uint64_t fresh = std::min<uint64_t>(due - due_, options_.connections);
    const uint64_t first = due_;
    due_ = due;
    for (uint64_t k = 0; k < fresh; k++) {
      const auto c = static_cast<uint32_t>((first + k) % options_.connections);
      const uint64_t next = next_of_[c];
      IssueDue(c, due);
      if (next_of_[c] != next) lag_.Record(now - schedule_->TimeOf(next));
      connections_[c]->Send();
    }
    int64_t timeout = kPatienceNs;
    if (due < schedule_->total()) timeout = static_cast<int64_t>(schedule_->TimeOf(due) - NowNs());
    Turn(timeout < kShortestSleepNs ? 0 : std::min(timeout, kPatienceNs));
  }
  stopping_ = true;
}

void Run::IssueDue(uint32_t c, uint64_t due) {
  Connection& connection = *connections_[c];
  while (connection.HasRoom() && next_of_[c] < due) {
    connection.Issue(schedule_->TimeOf(next_of_[c]));
    next_of_[c] += options_.connections;
    issued_++;
  }
}

// There are no answers to wait for: requests go out as fast as the sockets take them, and one that is
// answered comes last, so that the time ends when the broker has taken everything and not when a socket
// buffer has.
void Run::GoUnacknowledged() {
  while (!stopping_) {
    bool moved = false;
    for (auto& connection : connections_) {
      const uint64_t now = NowNs();
      while (connection->HasRoom() && MayIssue(now)) connection->Issue(now);
      connection->Send();
      moved = connection->Unacknowledged(tally_.get()) > 0 || moved;
    }
    if (!moved && !stopping_) Turn(kPatienceNs);
  }
  for (auto& connection : connections_) {
    while (!connection->Send()) Turn(kPatienceNs);
    connection->Unacknowledged(tally_.get());
    connection->IssueFence(NowNs());
    connection->Send();
  }
}

void Run::Turn(int64_t timeout_ns) {
  epoll_event events[kEvents];
  if (options_.spin) timeout_ns = 0;
  const timespec timeout = {0, timeout_ns};
  const int n = epoll_pwait2(epoll_, events, kEvents, &timeout, nullptr);
  if (n <= 0) {
    CheckProgress();
    return;
  }
  for (int i = 0; i < n; i++) {
    const uint32_t c = events[i].data.u32;
    Connection& connection = *connections_[c];
    if ((events[i].events & EPOLLOUT) != 0 && connection.HasUnsent()) connection.Send();
    if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) continue;
    bool more = true;
    while (more) {
      const uint32_t answers = connection.Receive(&scratch_, tally_.get(), &more);
      if (answers > 0) Answered(c, answers, NowNs());
    }
  }
}

void Run::CheckProgress() {
  const uint64_t now = NowNs();
  if (now >= end_ns_ && !schedule_) stopping_ = true;
  const uint64_t since = std::max(tally_->last_answer_ns, start_ns_);
  if (InFlight() > 0 && SecondsBetween(since, now) > options_.drain_seconds) {
    Die("no answer for " + std::to_string(options_.drain_seconds) + " s with requests in flight");
  }
}

void Run::Answered(uint32_t c, uint32_t answers, uint64_t now) {
  Connection& connection = *connections_[c];
  if (schedule_) {
    IssueDue(c, due_);
  } else {
    for (; answers > 0 && MayIssue(now); answers--) connection.Issue(now);
  }
  if (connection.HasUnsent()) connection.Send();
}

void Run::Drain() {
  const uint64_t until = NowNs() + static_cast<uint64_t>(options_.drain_seconds * 1e9);
  while (InFlight() > 0 && NowNs() < until) Turn(kPatienceNs);
}

uint64_t Run::InFlight() const {
  uint64_t sum = 0;
  for (const auto& connection : connections_) sum += connection->in_flight();
  return sum;
}

}  // namespace bench
