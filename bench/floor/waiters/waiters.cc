#include "waiters/waiters.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/clock.h"
#include "common/json.h"
#include "common/wire.h"

namespace bench {
namespace {

constexpr int kEvents = 1024;
constexpr int kPatienceMs = 30000;
constexpr uint32_t kStoredHeader = 8;  // crc32c
constexpr uint32_t kMaxBytes = 64 << 10;
// Connections of one source address: the system gives out some 28 000 ports for each.
constexpr uint32_t kPerAddress = 20000;

void Append16(std::vector<uint8_t>* to, uint16_t value) {
  to->resize(to->size() + 2);
  Put16(to->data() + to->size() - 2, value);
}
void Append32(std::vector<uint8_t>* to, uint32_t value) {
  to->resize(to->size() + 4);
  Put32(to->data() + to->size() - 4, value);
}
void Append64(std::vector<uint8_t>* to, uint64_t value) {
  to->resize(to->size() + 8);
  Put64(to->data() + to->size() - 8, value);
}

}  // namespace

WaitersOptions WaitersOptions::Parse(Args& args) {
  WaitersOptions o;
  o.host = args.Text("--host", "127.0.0.1");
  o.port = static_cast<uint16_t>(args.Number("--port", 4710, 1, 65535));
  o.congestion = args.Text("--congestion", "");
  o.topic = args.Text("--topic", "default");
  o.connections = static_cast<uint32_t>(args.Number("--connections", 1, 1, 1000000));
  o.fetches = static_cast<uint32_t>(args.Number("--fetches", o.connections, 1, 1000000));
  o.size = static_cast<uint32_t>(args.Number("--size", 128, 1, 32 << 10));
  o.max_wait_ms = static_cast<uint32_t>(args.Number("--max-wait", 60000, 1, 3600000));
  args.Finish();
  return o;
}

Waiters::Waiters(const WaitersOptions& options) : options_(options), scratch_(256 << 10) {}

Waiters::~Waiters() {
  for (const Connection& connection : connections_) close(connection.socket);
  if (producer_ >= 0) close(producer_);
  if (epoll_ >= 0) close(epoll_);
}

int Waiters::Connect(uint32_t number) const {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) Die(std::string("no socket: ") + strerror(errno));
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (!options_.congestion.empty()) {
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options_.congestion.data(), options_.congestion.size());
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (number >= kPerAddress) {
    // A port is looked for when it is connected, so that other addresses may have the same.
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number / kPerAddress);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) Die("cannot bind");
  }
  address.sin_port = htons(options_.port);
  if (inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr) != 1) Die("--host: not an IPv4 address");
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    Die(std::string("cannot connect: ") + strerror(errno));
  }
  return fd;
}

void Waiters::Open() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  producer_ = Connect(0);
  connections_.resize(options_.connections);
  for (uint32_t i = 0; i < options_.connections; i++) {
    connections_[i].socket = Connect(i);
    fcntl(connections_[i].socket, F_SETFL, O_NONBLOCK);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = i;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].socket, &event);
  }
  SendProduce();
  ReceiveProduced();
}

std::vector<uint8_t> Waiters::Request(uint16_t key, uint16_t version,
                                      const std::vector<uint8_t>& body) const {
  std::vector<uint8_t> request;
  const auto topic = static_cast<uint32_t>(options_.topic.size());
  Append32(&request, static_cast<uint32_t>(8 + 2 + topic + 4 + body.size()));
  Append16(&request, key);
  Append16(&request, version);
  Append32(&request, 7);
  Append16(&request, static_cast<uint16_t>(topic));
  request.insert(request.end(), options_.topic.begin(), options_.topic.end());
  Append32(&request, 0);
  request.insert(request.end(), body.begin(), body.end());
  return request;
}

void Waiters::SendAll(int socket, const std::vector<uint8_t>& bytes) const {
  if (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    Die("a request did not fit its socket");
  }
}

void Waiters::Ask() {
  std::vector<uint8_t> body;
  Append64(&body, end_);
  Append32(&body, kMaxBytes);
  Append32(&body, options_.max_wait_ms);
  Append32(&body, 1);
  const std::vector<uint8_t> request = Request(kApiFetch, 2, body);
  for (uint32_t i = 0; i < options_.connections; i++) {
    Connection& c = connections_[i];
    c.answered = 0;
    c.asked = options_.fetches / options_.connections + (i < options_.fetches % options_.connections ? 1 : 0);
    std::vector<uint8_t> all;
    for (uint32_t k = 0; k < c.asked; k++) all.insert(all.end(), request.begin(), request.end());
    SendAll(c.socket, all);
  }
}

void Waiters::SendProduce() {
  std::vector<uint8_t> body{1};
  Append32(&body, 1);
  Append32(&body, options_.size);
  body.resize(body.size() + options_.size, 'r');
  SendAll(producer_, Request(kApiProduce, 1, body));
}

void Waiters::ReceiveProduced() {
  uint8_t answer[kProduceAnswer];
  if (recv(producer_, answer, sizeof answer, MSG_WAITALL) != sizeof answer ||
      Get16(answer + 8) != kErrorNone) {
    Die("the record was not taken");
  }
  end_ = Get64(answer + 18);
}

uint32_t Waiters::AnswerBytes() const { return kFetchAnswer + kStoredHeader + options_.size; }

uint32_t Waiters::Receive(Connection* c) {
  const size_t carried = c->carry.size();
  std::copy(c->carry.begin(), c->carry.end(), scratch_.begin());
  const ssize_t n = recv(c->socket, scratch_.data() + carried, scratch_.size() - carried, 0);
  if (n < 0 && errno == EAGAIN) return 0;
  if (n <= 0) Die("a connection was closed");
  const uint8_t* at = scratch_.data();
  const uint8_t* const end = at + carried + n;
  const uint32_t whole = AnswerBytes();
  uint32_t answers = 0;
  for (; static_cast<size_t>(end - at) >= whole; at += whole, answers++) {
    const bool right = Get32(at) == whole - 4 && Get32(at + 4) == 7 && Get16(at + 8) == kErrorNone &&
                       Get32(at + 18) == kStoredHeader + options_.size;
    if (!right) Die("an answer without the record that ended the wait");
  }
  c->carry.assign(at, end);
  c->answered += answers;
  if (c->answered > c->asked) Die("more answers than requests");
  return answers;
}

void Waiters::Publish() {
  Histogram latency;
  const CpuTime cpu = CpuTime::OfThisProcess();
  const uint64_t began = NowNs();
  SendProduce();
  uint32_t left = options_.fetches;
  epoll_event events[kEvents];
  while (left > 0) {
    const int ready = epoll_wait(epoll_, events, kEvents, kPatienceMs);
    if (ready <= 0) Die(std::to_string(left) + " fetches were not answered");
    for (int i = 0; i < ready; i++) {
      const uint32_t answers = Receive(&connections_[events[i].data.u32]);
      const uint64_t passed = NowNs() - began;
      for (uint32_t k = 0; k < answers; k++) latency.Record(passed);
      left -= answers;
    }
  }
  const double seconds = SecondsBetween(began, NowNs());
  const CpuTime used = CpuTime::OfThisProcess() - cpu;
  ReceiveProduced();
  Json json;
  json.Open('{').Key("answers").Count(options_.fetches).Key("seconds").Real(seconds);
  json.Key("latency").Latency(latency).Key("cpuSeconds").Real(used.user + used.system).Close('}').Print();
}

void Waiters::CheckQuiet() {
  epoll_event event;
  if (epoll_wait(epoll_, &event, 1, 0) > 0) Die("a fetch was answered although nothing was published");
}

}  // namespace bench
