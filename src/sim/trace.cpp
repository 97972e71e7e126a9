#include "sim/trace.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace shoal::sim {

namespace {

// One round of splitmix64 over the sum: order matters, and every bit reaches every other.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = hash + value + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::string what_happened(const TraceEvent& event) {
  const char* const lane = event.lane == 0 ? "packet" : "control packet";
  switch (event.kind) {
    case EventKind::step:
      return fmt::format("rank {} worker {} {}", event.a, event.b,
                         event.detail == 0 ? "goes to sleep" : "steps");
    case EventKind::departure:
      return fmt::format("{} {} of rank {} for rank {} leaves", lane, event.detail, event.a,
                         event.b);
    case EventKind::arrival:
      return fmt::format("{} {} of rank {} arrives at rank {}", lane, event.detail, event.a,
                         event.b);
    case EventKind::payload:
      return fmt::format("{} bytes of a large message of rank {} arrive at rank {}", event.detail,
                         event.a, event.b);
    case EventKind::mishap:
      return fmt::format("a fault meets what rank {} sends to rank {}", event.a, event.b);
  }
  return "?";
}

/// The rank that an event happens at.
std::uint32_t place_of(const TraceEvent& event) {
  const bool at_target = event.kind == EventKind::arrival || event.kind == EventKind::payload;
  return at_target ? event.b : event.a;
}

char sign_of(const TraceEvent& event) {
  switch (event.kind) {
    case EventKind::step:
      return event.detail == 0 ? 'z' : '*';
    case EventKind::departure:
      return '>';
    case EventKind::arrival:
    case EventKind::payload:
      return '<';
    case EventKind::mishap:
      break;
  }
  return '!';
}

[[noreturn]] void throw_unwritten() {
  throw Error(fmt::format("the recording of a simulated run cannot be written: {}",
                          std::generic_category().message(errno)));
}

}  // namespace

std::string describe(const TraceEvent& event) {
  return fmt::format("{}.{:03} us: {}", event.time_ns / 1000, event.time_ns % 1000,
                     what_happened(event));
}

Recording::Recording() : file_(std::tmpfile()) {
  if (file_ == nullptr) {
    throw Error(fmt::format("no temporary file for the recording of a simulated run: {}",
                            std::generic_category().message(errno)));
  }
}

void Recording::add(const TraceEvent& event) {
  if (std::fwrite(&event, sizeof event, 1, file_.get()) != 1) throw_unwritten();
}

void Recording::flush() {
  if (std::fflush(file_.get()) != 0) throw_unwritten();
}

void Recording::rewind() { std::rewind(file_.get()); }

bool Recording::read(TraceEvent& event) {
  return std::fread(&event, sizeof event, 1, file_.get()) == 1;
}

void Trace::keep(std::size_t count) {
  last_max_ = count;
  keeps_activities_ = true;
}

void Trace::add(const TraceEvent& event, const std::vector<std::string>& activities) {
  hash_ = mix(hash_, event.time_ns);
  hash_ = mix(hash_, (std::uint64_t{event.a} << 32U) | event.b);
  hash_ = mix(hash_, (std::uint64_t{event.lane} << 32U) | static_cast<std::uint32_t>(event.kind));
  hash_ = mix(hash_, event.detail);
  ++count_;
  last_.push_back(
      {event, activities.empty() ? "" : fmt::format("{}", fmt::join(activities, ", "))});
  if (last_.size() > last_max_) last_.pop_front();
  if (recording_ != nullptr) recording_->add(event);
  if (expected_ == nullptr) return;
  TraceEvent before;
  const bool had_one = expected_->read(before);
  if (had_one && before == event) return;
  throw Error(fmt::format(
      "the same seed gave two runs, which differ from event {} on: first '{}', then '{}'; "
      "something decides that is not drawn from the seed: a clock, an address, a thread",
      count_ - 1, had_one ? describe(before) : "the end", describe(event)));
}

void Trace::finish() {
  TraceEvent before;
  if (expected_ == nullptr || !expected_->read(before)) return;
  throw Error(
      fmt::format("the same seed gave two runs: the first went on after event {} with '{}', the "
                  "second ended",
                  count_, describe(before)));
}

std::vector<std::string> Trace::last_lines() const {
  std::vector<std::string> lines;
  lines.reserve(last_.size());
  for (const Kept& kept : last_) lines.push_back(describe(kept.event));
  return lines;
}

std::vector<std::string> Trace::space_time(int ranks) const {
  constexpr int kColumnsMax = 16;
  constexpr std::size_t kWidth = 3;
  const bool columns = ranks <= kColumnsMax;
  std::string title = fmt::format("{:>14}", "us");
  for (int rank = 0; columns && rank < ranks; ++rank) title += fmt::format("{:>3}", rank);
  std::vector<std::string> lines{
      title + "   * works, z goes to sleep, > a packet leaves, < it arrives, ! a fault"};
  for (const auto& [event, activities] : last_) {
    std::string space(columns ? kWidth * static_cast<std::size_t>(ranks) : 0, ' ');
    if (columns) space[kWidth * place_of(event) + kWidth - 1] = sign_of(event);
    lines.push_back(fmt::format("{:>10}.{:03}{}   {}{}{}", event.time_ns / 1000,
                                event.time_ns % 1000, space, what_happened(event),
                                activities.empty() ? "" : ": ", activities));
  }
  return lines;
}

}  // namespace shoal::sim
