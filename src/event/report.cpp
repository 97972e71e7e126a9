#include "event/report.hpp"

#include "base/edit_distance.hpp"

#include <shoal/detail/base/type_name.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace shoal::event {

namespace {

constexpr std::size_t kMissingMax = 8;  // per task

std::string source_text(int source) {
  return source == kAnySource ? "any rank" : fmt::format("rank {}", source);
}

std::string dependency_text(const Dependency& dependency) {
  return fmt::format("\"{}\" from {}", dependency.name, source_text(dependency.source));
}

bool looks_alike(const std::string& a, const std::string& b) {
  const std::size_t allowed = std::min(a.size(), b.size()) <= 3 ? 1 : 2;
  return edit_distance(a, b) <= allowed;
}

/// Hint at a likely mistake: the right name from another rank, or a similar name.
std::string hint_for(const WaitingConsumer& consumer, const std::vector<Unconsumed>& unconsumed) {
  const Unconsumed* alike = nullptr;
  for (const Dependency& wanted : consumer.missing) {
    for (const Unconsumed& there : unconsumed) {
      if (there.name == wanted.name) {
        return fmt::format("; \"{}\" is here from {}: is the source right?", there.name,
                           source_text(there.source));
      }
      const bool fits = wanted.source == kAnySource || wanted.source == there.source;
      if (alike == nullptr && fits && looks_alike(there.name, wanted.name)) alike = &there;
    }
  }
  if (alike == nullptr) return "";
  return fmt::format("; \"{}\" is here from {}: is the name right?", alike->name,
                     source_text(alike->source));
}

bool runs_once(const WaitingConsumer& consumer) {
  return consumer.kind == ConsumerKind::task || consumer.kind == ConsumerKind::wait;
}

std::string name_of(const WaitingConsumer& consumer) {
  return runs_once(consumer) ? consumer.name : consumer.name + " (persistent)";
}

/// Its part of Leftovers::waiting_count.
std::uint64_t counted(const WaitingConsumer& consumer) {
  return runs_once(consumer) || consumer.is_starved ? 1 : consumer.later_count;
}

std::string later_text(std::uint64_t count) {
  if (count == 0) return "";
  return count == 1 ? " for a later run" : fmt::format(" for {} later runs", count);
}

std::string describe_waiting(const WaitingConsumer& consumer,
                             const std::vector<Unconsumed>& unconsumed) {
  std::vector<std::string> missing;
  for (const Dependency& dependency : consumer.missing) {
    if (missing.size() == kMissingMax) {
      missing.push_back(fmt::format("{} more", consumer.missing.size() - kMissingMax));
      break;
    }
    missing.push_back(dependency_text(dependency));
  }
  return fmt::format("{} has {} of {} events{} and waits for {}{}", name_of(consumer),
                     consumer.held_count, consumer.held_count + consumer.missing_count,
                     later_text(consumer.later_count), fmt::join(missing, ", "),
                     consumer.is_starved ? "; another persistent task holds what it lacks"
                                         : hint_for(consumer, unconsumed));
}

std::string describe_unconsumed(const Unconsumed& event) {
  const std::string times = event.count == 1 ? "" : fmt::format(", {} times", event.count);
  return fmt::format("no task took \"{}\" from {} with {}{}", event.name, source_text(event.source),
                     event.type, times);
}

/// The types that all interfaces for other languages have: those of <shoal/event.h>.
std::string raw_text(const RawPayload& raw) {
  constexpr int kFirstContext = 1000;
  static constexpr std::array<std::string_view, 7> kOne{"nothing", "int",     "float", "double",
                                                        "byte",    "address", "long"};
  if (raw.type == 0) return std::string(kOne[0]);
  if (raw.type >= kFirstContext) return "a context";
  if (raw.type < 0 || raw.type >= static_cast<int>(kOne.size())) {
    return fmt::format("{} elements of type {}", raw.count, raw.type);
  }
  const std::string_view name = kOne[static_cast<std::size_t>(raw.type)];
  if (raw.count == 1) return fmt::format("1 {}", name);
  return fmt::format("{} {}{}", raw.count, name, name.ends_with('s') ? "es" : "s");
}

}  // namespace

std::string type_of(const Content& content) {
  const std::string text = naming::tidy(content.type_text);
  switch (content.type) {
    case EventType::none:
      return "nothing";
    case EventType::value:
      return text;
    case EventType::raw:
      return raw_text(content.raw);
    case EventType::address:
      return fmt::format("the address of {}", text);
  }
  return text;
}

std::vector<std::string> describe(const std::string& events, const Leftovers& leftovers) {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& text) {
    lines.push_back(fmt::format("events '{}': {}", events, text));
  };
  std::uint64_t more_count = leftovers.waiting_count;
  for (const WaitingConsumer& consumer : leftovers.waiting) {
    add(describe_waiting(consumer, leftovers.unconsumed));
    more_count -= counted(consumer);
  }
  if (more_count > 0) add(fmt::format("and {} more tasks", more_count));
  const std::size_t shown = std::min(leftovers.unconsumed.size(), kLinesMax);
  for (std::size_t i = 0; i < shown; ++i) add(describe_unconsumed(leftovers.unconsumed[i]));
  std::uint64_t left_out = 0;
  for (std::size_t i = shown; i < leftovers.unconsumed.size(); ++i) {
    left_out += leftovers.unconsumed[i].count;
  }
  if (left_out > 0) add(fmt::format("and {} more events that no task took", left_out));
  for (const Rank source : leftovers.held_sources) {
    add(fmt::format("events from rank {} wait for earlier ones that were lost", source.value()));
  }
  return lines;
}

}  // namespace shoal::event
