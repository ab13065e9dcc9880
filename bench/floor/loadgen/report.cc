// What the load generator prints: one JSON document. Rates are over the measured time, which ends with the
// last answer; processor time is over the whole run, warm-up included.

#include "common/json.h"
#include "loadgen/run.h"

namespace bench {

void Run::Print() const {
  const double seconds = SecondsBetween(tally_->from_ns, finished_ns_);
  const double elapsed = SecondsBetween(start_ns_, finished_ns_);
  uint64_t bytes_out = 0;
  for (const auto& connection : connections_) bytes_out += connection->bytes_out();
  uint64_t errors = 0;
  for (const auto& [code, count] : tally_->errors) errors += count;
  const auto answered = static_cast<double>(tally_->answered);

  Json json;
  json.Open('{').Key("api").Text(options_.api == Api::kProduce ? "produce" : "fetch");
  json.Key("loop").Text(schedule_ ? "open" : "closed");
  json.Key("connections").Count(options_.connections).Key("depth").Count(options_.depth);
  json.Key("requests").Count(tally_->answered).Key("warmup").Count(tally_->warmup);
  json.Key("unanswered").Count(InFlight()).Key("seconds").Real(seconds);
  json.Key("requestsPerSecond").Real(answered / seconds);
  json.Key("errorCount").Count(errors).Key("errors").Open('{');
  for (const auto& [code, count] : tally_->errors) json.Key(std::to_string(code)).Count(count);
  json.Close('}').Key("bytesOut").Count(bytes_out).Key("bytesIn").Count(tally_->bytes_in);
  if (options_.api == Api::kProduce) {
    const auto records = answered * options_.records;
    json.Key("recordsPerRequest").Count(options_.records).Key("recordBytes").Count(options_.size);
    json.Key("ack").Count(options_.ack).Key("recordsPerSecond").Real(records / seconds);
    json.Key("payloadBytesPerSecond").Real(records * options_.size / seconds);
    json.Key("recordsAcknowledged").Count(tally_->records_acknowledged);
    if (tally_->records_acknowledged > 0) {
      json.Key("baseOffsetMin").Count(tally_->base_offset_min).Key("logEndMax").Count(tally_->log_end_max);
    }
  } else {
    json.Key("maxBytes").Count(options_.max_bytes).Key("payloadBytes").Count(tally_->payload_bytes);
    json.Key("payloadBytesPerSecond").Real(static_cast<double>(tally_->payload_bytes) / seconds);
    json.Key("emptyAnswers").Count(tally_->empty_answers);
  }
  json.Key("latency").Latency(tally_->latency);
  if (schedule_) {
    json.Key("scheduled").Count(schedule_->total()).Key("rate").Real(options_.rate);
    json.Key("generatorLag").Latency(lag_);
  }
  json.Key("timeline").Open('{').Key("intervalMs").Count(options_.timeline_ms).Key("answers").Open('[');
  for (const uint64_t count : tally_->timeline) json.Count(count);
  json.Close(']').Close('}');
  json.Key("cpu").Open('{').Key("user").Real(cpu_.user).Key("system").Real(cpu_.system);
  json.Key("fraction").Real((cpu_.user + cpu_.system) / elapsed).Close('}').Close('}').Print();
}

}  // namespace bench
