#include "sim/log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace shoal::sim {

namespace {

// Control messages that a world sends while nothing happens in the program (src/team/scope.cpp).
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
  add({event.time_ns, event.kind == EventKind::payload ? event.b : event.a, sign_of(event.kind),
       what_happened(event)});
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
