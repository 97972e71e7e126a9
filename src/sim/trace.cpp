#include "sim/simulator.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace shoal::sim {

namespace {

// One round of splitmix64 over the sum: order matters, and every bit reaches every other.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t z = hash + value + 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

[[noreturn]] void throw_unwritten() {
  throw Error(fmt::format("the recording of a simulated run cannot be written: {}",
                          std::generic_category().message(errno)));
}

}  // namespace

std::string what_happened(const TraceEvent& event) {
  constexpr std::array kLanes{"packet", "control packet", "urgent packet"};
  const char* const lane = kLanes[event.lane % kLanes.size()];
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
      return fmt::format("a fault strikes a packet from rank {} to rank {}", event.a, event.b);
  }
  return "?";
}

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

void Trace::add(const TraceEvent& event) {
  constexpr std::size_t kLastMax = 16;
  hash_ = mix(hash_, event.time_ns);
  hash_ = mix(hash_, (std::uint64_t{event.a} << 32U) | event.b);
  hash_ = mix(hash_, (std::uint64_t{event.lane} << 32U) | static_cast<std::uint32_t>(event.kind));
  hash_ = mix(hash_, event.detail);
  ++count_;
  last_.push_back(event);
  if (last_.size() > kLastMax) last_.pop_front();
  if (recording_ != nullptr) recording_->add(event);
  if (expected_ == nullptr) return;
  TraceEvent before;
  const bool had_one = expected_->read(before);
  if (had_one && before == event) return;
  throw Error(fmt::format(
      "the same seed gave two runs, which differ from event {} on: first '{}', then '{}'; "
      "some decision is not drawn from the seed, but depends on a clock, an address or a thread",
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
  for (const TraceEvent& event : last_) lines.push_back(describe(event));
  return lines;
}

namespace {

// Control messages that a world sends while nothing happens in the program
// (src/team/control_message.cpp).
bool is_detection(std::string_view handler) {
  constexpr std::array<std::string_view, 4> kNames{"shoal::report", "shoal::request",
                                                   "shoal::confirmation", "shoal::done"};
  return std::ranges::any_of(kNames, [&](auto name) { return handler.ends_with(name); });
}

char sign_of(EventKind kind) {
  switch (kind) {
    case EventKind::departure:
      return '>';
    case EventKind::arrival:
    case EventKind::payload:
      return '<';
    case EventKind::step:
    case EventKind::mishap:
      break;
  }
  return '!';
}

std::string_view verb_of(env::Happening what) {
  switch (what) {
    case env::Happening::begins:
      return "begins";
    case env::Happening::parks:
      return "parks";
    case env::Happening::goes_on:
      return "goes on with";
    case env::Happening::ends:
      return "ends";
    case env::Happening::handles:
      return "handles";
  }
  return "?";
}

}  // namespace

void Log::keep(std::size_t count, bool detection, Names names) {
  count_max_ = count;
  detection_ = detection;
  names_ = std::move(names);
}

void Log::add(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() > count_max_) entries_.pop_front();
}

void Log::add(std::uint64_t time_ns, int rank, int worker, env::Happening what,
              const std::string& name) {
  if (!is_kept() || (!detection_ && is_detection(name))) return;
  add({time_ns, static_cast<std::uint32_t>(rank), '*',
       fmt::format("rank {} worker {} {} '{}'", rank, worker, verb_of(what), name)});
}

void Log::add(const TraceEvent& event, const net::Packet& packet) {
  if (!is_kept()) return;
  std::vector<std::string> names = names_(packet);
  if (!detection_) std::erase_if(names, is_detection);
  if (names.empty()) return;
  const bool arrives = event.kind == EventKind::arrival;
  add({event.time_ns, arrives ? event.b : event.a, sign_of(event.kind),
       fmt::format("{}: {}", what_happened(event), fmt::join(names, ", "))});
}

void Log::add(const TraceEvent& event) {
  if (!is_kept()) return;
  const bool arrives = event.kind == EventKind::payload || event.kind == EventKind::arrival;
  add({event.time_ns, arrives ? event.b : event.a, sign_of(event.kind), what_happened(event)});
}

std::vector<std::string> Log::lines(int ranks) const {
  constexpr int kColumnsMax = 16;
  constexpr std::size_t kWidth = 3;
  const bool columns = ranks <= kColumnsMax;
  std::string title = fmt::format("{:>14}", "us");
  for (int rank = 0; columns && rank < ranks; ++rank) title += fmt::format("{:>3}", rank);
  std::vector<std::string> lines{
      title + "   * a task or handler, > a packet leaves, < it arrives, ! a fault"};
  std::vector<Entry> sorted(entries_.begin(), entries_.end());
  std::ranges::stable_sort(sorted, {}, &Entry::time_ns);  // packets are noted before they leave
  for (const Entry& entry : sorted) {
    std::string space(columns ? kWidth * static_cast<std::size_t>(ranks) : 0, ' ');
    if (columns) space[kWidth * entry.rank + kWidth - 1] = entry.sign;
    lines.push_back(fmt::format("{:>10}.{:03}{}   {}", entry.time_ns / 1000, entry.time_ns % 1000,
                                space, entry.text));
  }
  return lines;
}

}  // namespace shoal::sim
