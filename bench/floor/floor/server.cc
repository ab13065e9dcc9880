#include "floor/server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <algorithm>

namespace bench {
namespace {

constexpr uint32_t kListenerId = UINT32_MAX;
constexpr uint32_t kForcerId = UINT32_MAX - 1;
constexpr int kEvents = 256;
constexpr int kStopCheckMs = 200;

}  // namespace

Server::Server(const ServerOptions& options, Sinks sinks)
    : options_(options), sinks_(std::move(sinks)), forcer_(options.forcers) {
  arena_.resize(kMaxFrameBytes + 4 + options.receive_bytes);
  replies_.resize(1 << 20);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // Accepted sockets inherit it. Some machines default to bbr, whose pacing timers cost more than the sending
  // on loopback.
  if (!options.congestion.empty() && setsockopt(listener_, IPPROTO_TCP, TCP_CONGESTION,
                                                options.congestion.data(), options.congestion.size()) != 0) {
    Die("--congestion: " + options.congestion + " is not to be had here");
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(options.port);
  if (inet_pton(AF_INET, options.host.c_str(), &address.sin_addr) != 1) Die("bad host");
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Die("cannot bind");
  if (listen(listener_, 4096) != 0) Die("cannot listen");
  socklen_t length = sizeof address;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
  port_ = ntohs(address.sin_port);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = kListenerId;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  event.data.u32 = kForcerId;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, forcer_.event(), &event);
}

ServerCounts Server::Run(const volatile int* stop) {
  epoll_event events[kEvents];
  while (*stop == 0) {
    // The signal may come to another thread, or just before the call: nothing is lost but a little time.
    const int n = epoll_wait(epoll_, events, kEvents, kStopCheckMs);
    for (int i = 0; i < n; i++) {
      const uint32_t id = events[i].data.u32;
      if (id == kListenerId) {
        Accept();
      } else if (id == kForcerId) {
        Forced();
      } else if (connections_[id]->socket >= 0) {
        if ((events[i].events & EPOLLOUT) != 0) Resume(id);
        if (connections_[id]->socket >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
          Receive(id);
      }
    }
    Force();
  }
  return counts_;
}

void Server::Accept() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    uint32_t id = static_cast<uint32_t>(connections_.size());
    if (free_.empty()) {
      connections_.push_back(std::make_unique<Connection>());
    } else {
      id = free_.back();
      free_.pop_back();
    }
    connections_[id]->socket = socket;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = id;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  }
}

void Server::Receive(uint32_t id) {
  Connection& c = *connections_[id];
  if (!c.output.empty()) return;
  const size_t carried = c.carry.size();
  memcpy(arena_.data(), c.carry.data(), carried);
  c.carry.clear();
  const ssize_t n = recv(
      c.socket, arena_.data() + carried,
      arena_.size() - carried < options_.receive_bytes ? arena_.size() - carried : options_.receive_bytes, 0);
  if (n <= 0) {
    if (n < 0 && errno == EAGAIN) {
      c.carry.assign(arena_.data(), arena_.data() + carried);
    } else {
      Close(id);
    }
    return;
  }
  const uint8_t* end = arena_.data() + carried + n;
  const uint8_t* rest = Cut(id, arena_.data(), end);
  Commit();
  if (c.socket >= 0 && reply_bytes_ > 0) Send(id, {});
  reply_bytes_ = 0;
  Wake();
  if (c.socket < 0) return;
  if (rest == nullptr) {
    Close(id);
    return;
  }
  c.carry.assign(rest, end);
}

void Server::Commit() {
  for (Sink* sink : touched_) {
    sink->Commit();
    sink->touched = false;
  }
  touched_.clear();
}

const uint8_t* Server::Cut(uint32_t id, const uint8_t* at, const uint8_t* end) {
  while (end - at >= 4) {
    const uint32_t length = Get32(at);
    if (length < 8 || length > kMaxFrameBytes) return nullptr;
    if (static_cast<uint64_t>(end - at) < 4 + uint64_t{length}) break;
    const uint16_t key = Get16(at + 4);
    const uint16_t version = Get16(at + 6);
    const uint32_t correlation = Get32(at + 8);
    counts_.frames++;
    bool sound = true;
    if (key == kApiProduce && version == 1) {
      sound = Produce(id, at + 12, length - 8, correlation);
    } else if (key == kApiFetch && (version == 1 || version == 2)) {
      sound = Fetch(id, at + 12, length - 8, correlation, version);
    } else {
      Refuse(correlation, kErrorUnsupportedVersion);
    }
    if (!sound) Refuse(correlation, kErrorCorruptRequest);
    if (connections_[id]->socket < 0) return nullptr;
    at += 4 + length;
  }
  return at;
}

bool Server::Produce(uint32_t id, const uint8_t* body, uint32_t bytes, uint32_t correlation) {
  if (bytes < 2) return false;
  const uint32_t topic = Get16(body);
  const uint32_t head = 2 + topic + 4 + 1 + 4;
  if (bytes < head) return false;
  const uint8_t ack = body[2 + topic + 4];
  const uint32_t records = Get32(body + 2 + topic + 5);
  if (records == 0 || ack > 2 || !RegionIsSound(body + head, bytes - head, records)) return false;
  Sink& sink = *sinks_[Get32(body + 2 + topic) % sinks_.size()];
  const uint64_t base = sink.Append(body + head, bytes - head, records);
  if (!sink.touched) touched_.push_back(&sink);
  sink.touched = true;
  counts_.batches++;
  counts_.records += records;
  if (ack == 0) return true;
  Waiting waiting{id, connections_[id]->generation, {}};
  uint8_t* answer = ack == 2 && sink.log() != nullptr ? waiting.answer : Answer(kProduceAnswer);
  Put32(answer, kProduceAnswer - 4);
  Put32(answer + 4, correlation);
  Put16(answer + 8, kErrorNone);
  Put64(answer + 10, base);
  Put64(answer + 18, base + records);
  if (answer != waiting.answer) return true;
  arriving_.push_back(waiting);
  if (!sink.wanted) wanted_.push_back(&sink);
  sink.wanted = true;
  return true;
}

bool Server::Fetch(uint32_t id, const uint8_t* body, uint32_t bytes, uint32_t correlation, uint16_t version) {
  if (bytes < 2) return false;
  const uint32_t topic = Get16(body);
  if (bytes != 2 + topic + 4 + 8 + 4 + (version == 2 ? 8 : 0)) return false;
  const uint64_t offset = Get64(body + 2 + topic + 4);
  const uint32_t max_bytes = Get32(body + 2 + topic + 12);
  Sink* const sink = sinks_[Get32(body + 2 + topic) % sinks_.size()].get();
  if (max_bytes == 0 || sink->log() == nullptr) return false;
  counts_.fetches++;
  if (offset > sink->next_offset()) {
    Refuse(correlation, kErrorOffsetOutOfRange);
    return true;
  }
  if (offset == sink->next_offset() && version == 2) {
    parked_.push_back({id, connections_[id]->generation, correlation, max_bytes, offset, sink});
  } else {
    AnswerFetch(id, correlation, sink, offset, max_bytes);
  }
  return true;
}

void Server::AnswerFetch(uint32_t id, uint32_t correlation, Sink* sink, uint64_t offset, uint32_t max_bytes) {
  Piece slice;
  if (offset < sink->next_offset()) {
    sink->Commit();
    const FloorSegment& segment = sink->log()->Find(offset);
    const uint64_t record = options_.record_size + (sink->sums() ? 8 : 4);
    slice.position = static_cast<int64_t>((offset - segment.base_offset) * record);
    slice.left = std::min<uint64_t>(max_bytes, segment.end - static_cast<uint64_t>(slice.position));
    slice.file = segment.fd;
  }
  uint8_t* answer = Answer(kFetchAnswer);
  Put32(answer, kFetchAnswer - 4 + static_cast<uint32_t>(slice.left));
  Put32(answer + 4, correlation);
  Put16(answer + 8, kErrorNone);
  Put64(answer + 10, sink->next_offset());
  Put32(answer + 18, static_cast<uint32_t>(slice.left));
  if (slice.left > 0) Send(id, std::move(slice));
}

// Those who waited at the end of a log that has grown have waited for this.
void Server::Wake() {
  if (parked_.empty()) return;
  const auto grown = [](const Parked& p) { return p.sink->next_offset() != p.offset; };
  if (std::none_of(parked_.begin(), parked_.end(), grown)) return;
  waking_.swap(parked_);
  for (const Parked& p : waking_) {
    if (connections_[p.connection]->generation != p.generation) continue;
    if (grown(p)) {
      AnswerFetch(p.connection, p.correlation, p.sink, p.offset, p.max_bytes);
    } else {
      parked_.push_back(p);
    }
  }
  waking_.clear();
}

void Server::Refuse(uint32_t correlation, uint16_t error) {
  uint8_t* answer = Answer(kResponseHeader);
  Put32(answer, kResponseHeader - 4);
  Put32(answer + 4, correlation);
  Put16(answer + 8, error);
}

uint8_t* Server::Answer(uint32_t bytes) {
  if (replies_.size() - reply_bytes_ < bytes) replies_.resize(2 * replies_.size());
  uint8_t* at = replies_.data() + reply_bytes_;
  reply_bytes_ += bytes;
  return at;
}

// Sends the replies gathered so far and the slice behind them; what the socket does not take is queued.
void Server::Send(uint32_t id, Piece slice) {
  Connection& c = *connections_[id];
  size_t sent = 0;
  SendResult result = SendResult::kBlocked;
  if (!options_.zero_copy && slice.left > 0) {
    uint8_t* at = Answer(static_cast<uint32_t>(slice.left));
    const ssize_t n = pread(slice.file, at, slice.left, slice.position);
    if (n != static_cast<ssize_t>(slice.left)) Die("pread failed");
    slice = {};
  }
  if (c.output.empty()) {
    result = SendBytes(c.socket, replies_.data(), reply_bytes_, &sent, slice.left > 0);
    if (result == SendResult::kDone) result = SendSlice(c.socket, slice.file, &slice.position, &slice.left);
  }
  if (result == SendResult::kFailed) {
    Close(id);
  } else if (result == SendResult::kBlocked) {
    slice.bytes.assign(replies_.data() + sent, replies_.data() + reply_bytes_);
    c.output.Add(std::move(slice));
    if (!c.wants_write) Watch(id, true);
  }
  reply_bytes_ = 0;
}

void Server::Resume(uint32_t id) {
  Connection& c = *connections_[id];
  const SendResult result = c.output.Pump(c.socket);
  if (result == SendResult::kFailed) Close(id);
  if (result == SendResult::kDone) Watch(id, false);
}

// A connection that waits to be written to is not read: that is all the back-pressure there is.
void Server::Watch(uint32_t id, bool writing) {
  Connection& c = *connections_[id];
  c.wants_write = writing;
  epoll_event event{};
  event.events = writing ? EPOLLOUT : EPOLLIN;
  event.data.u32 = id;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, c.socket, &event);
}

void Server::Close(uint32_t id) {
  Connection& c = *connections_[id];
  if (c.socket < 0) return;
  close(c.socket);
  const uint32_t generation = c.generation + 1;
  c = Connection();
  c.generation = generation;
  free_.push_back(id);
}

void Server::Force() {
  if (arriving_.empty() || forcer_.busy()) return;
  forcing_.swap(arriving_);
  arriving_.clear();
  counts_.barriers++;
  std::vector<int> descriptors;
  for (Sink* sink : wanted_) {
    const std::vector<int> unforced = sink->log()->TakeUnforced();
    descriptors.insert(descriptors.end(), unforced.begin(), unforced.end());
    sink->wanted = false;
  }
  wanted_.clear();
  forcer_.Start(std::move(descriptors));
}

void Server::Forced() {
  forcer_.Finish();
  // Answers of one connection lie together when it sent together; each run of them goes out in one call.
  for (size_t i = 0; i < forcing_.size(); i++) {
    const Waiting& w = forcing_[i];
    memcpy(Answer(kProduceAnswer), w.answer, kProduceAnswer);
    const bool last = i + 1 == forcing_.size() || forcing_[i + 1].connection != w.connection ||
                      forcing_[i + 1].generation != w.generation;
    if (!last) continue;
    if (connections_[w.connection]->generation == w.generation) Send(w.connection, {});
    reply_bytes_ = 0;
  }
  forcing_.clear();
}

}  // namespace bench
