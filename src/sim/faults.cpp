#include "sim/faults.hpp"

#include "sim/net_model.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>
#include <utility>

namespace shoal::sim {

namespace {

/// A kind, and which keys it must and may have ("p" stands for one of p and n).
struct KindInfo {
  FaultKind kind;
  std::string_view name;
  std::string_view required;
  std::string_view optional;
};
constexpr std::array<KindInfo, 8> kKinds{{{FaultKind::delay, "delay", "p by", "from to"},
                                          {FaultKind::reorder, "reorder", "p", "from to by"},
                                          {FaultKind::duplicate, "duplicate", "p", "from to"},
                                          {FaultKind::drop, "drop", "p", "from to"},
                                          {FaultKind::corrupt, "corrupt", "p", "from to"},
                                          {FaultKind::clog, "clog", "from to at for", ""},
                                          {FaultKind::pause, "pause", "rank at for", ""},
                                          {FaultKind::die, "die", "rank at", ""}}};

const KindInfo& info_of(FaultKind kind) {
  return *std::ranges::find(kKinds, kind, &KindInfo::kind);
}

bool has_word(std::string_view words, const std::string& word) {
  const std::vector<std::string> all = split(std::string(words), ' ');
  return std::ranges::find(all, word) != all.end();
}

[[noreturn]] void refuse(const std::string& part, const std::string& problem,
                         const std::string& allowed) {
  throw ConfigError(fmt::format("fault '{}': {}; allowed: {}", part, problem, allowed));
}

/// Sets one key of a fault.
void set_key(Fault& fault, const std::string& part, const std::string& key,
             const std::string& value) {
  const auto number = [&](Units units, std::string_view allowed, double max) {
    const std::optional<double> parsed = parse_value(value, units);
    if (!parsed || *parsed > max) {
      refuse(part, fmt::format("{}={}", key, value), std::string(allowed));
    }
    return *parsed;
  };
  constexpr std::array<std::pair<std::string_view, double>, 1> kPlain{{{"", 1}}};
  const auto time = [&] {
    return static_cast<std::uint64_t>(
        std::llround(number(time_units(), "a time with its unit, such as 50us", 1e18)));
  };
  const auto count = [&](double max) {
    const double parsed = number(kPlain, "a whole number", max);
    if (parsed != std::floor(parsed)) refuse(part, key + "=" + value, "a whole number");
    return parsed;
  };
  constexpr double kRankMax = 1 << 20;
  if (key == "p") {
    fault.probability = number(kPlain, "a probability from 0 to 1", 1);
  } else if (key == "n") {
    fault.nth = static_cast<std::uint64_t>(count(1e15));
  } else if (key == "from") {
    fault.from = static_cast<int>(count(kRankMax));
  } else if (key == "to") {
    fault.to = static_cast<int>(count(kRankMax));
  } else if (key == "rank") {
    fault.rank = static_cast<int>(count(kRankMax));
  } else if (key == "at") {
    fault.at_ns = time();
  } else if (key == "for") {
    fault.for_ns = time();
  } else {
    fault.by_ns = time();
  }
}

Fault parse_fault(const std::string& part) {
  const std::size_t colon = part.find(':');
  const auto info = std::ranges::find(kKinds, part.substr(0, colon), &KindInfo::name);
  if (info == kKinds.end()) {
    std::vector<std::string_view> names;
    names.reserve(kKinds.size());
    for (const KindInfo& kind : kKinds) names.push_back(kind.name);
    refuse(part, fmt::format("'{}' is unknown", part.substr(0, colon)),
           fmt::format("{}", fmt::join(names, ", ")));
  }
  const std::string keys =
      fmt::format("{} with {}{}{}", info->name, info->required,
                  info->optional.empty() ? "" : " and perhaps ", info->optional);
  const bool chosen = has_word(info->required, "p");
  const std::string allowed = chosen ? keys + " (n, the n-th packet, in the place of p)" : keys;
  Fault fault;
  fault.kind = info->kind;
  fault.by_ns = 100'000;
  std::vector<std::string> given;
  for (const std::string& assignment :
       split(colon == std::string::npos ? "" : part.substr(colon + 1), ',')) {
    const std::size_t equals = assignment.find('=');
    const std::string key = assignment.substr(0, equals);
    const std::string slot = key == "n" && chosen ? "p" : key;
    if (equals == std::string::npos ||
        !(has_word(info->required, slot) || has_word(info->optional, slot))) {
      refuse(part, fmt::format("'{}' does not belong there", assignment), allowed);
    }
    if (std::ranges::find(given, slot) != given.end()) {
      refuse(part, fmt::format("'{}' comes twice", slot), allowed);
    }
    given.push_back(slot);
    set_key(fault, part, key, assignment.substr(equals + 1));
  }
  for (const std::string& key : split(std::string(info->required), ' ')) {
    if (std::ranges::find(given, key) == given.end()) {
      refuse(part, fmt::format("{} is missing", key), allowed);
    }
  }
  return fault;
}

std::string read_plan(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw ConfigError(fmt::format("fault plan '{}': this file cannot be read", path));
  std::string plan;
  for (std::string line; std::getline(file, line);) {
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    line = line.substr(0, line.find('#'));
    if (!line.empty()) plan += (plan.empty() ? "" : ";") + line;
  }
  return plan;
}

}  // namespace

std::vector<Fault> parse_fault_plan(const std::string& text) {
  const std::string plan = text.starts_with('@') ? read_plan(text.substr(1)) : text;
  std::vector<Fault> faults;
  if (plan.empty()) return faults;
  for (const std::string& part : split(plan, ';')) faults.push_back(parse_fault(part));
  return faults;
}

std::string describe(const Fault& fault) {
  const KindInfo& info = info_of(fault.kind);
  std::string keys;
  const auto add = [&](std::string_view key, const std::string& value) {
    keys += fmt::format("{}{}={}", keys.empty() ? "" : ",", key, value);
  };
  if (fault.probability) add("p", fmt::format("{}", *fault.probability));
  if (fault.nth) add("n", fmt::format("{}", *fault.nth));
  if (fault.from) add("from", fmt::format("{}", *fault.from));
  if (fault.to) add("to", fmt::format("{}", *fault.to));
  if (has_word(info.required, "rank")) add("rank", fmt::format("{}", fault.rank));
  if (has_word(info.required, "at")) add("at", fmt::format("{}ns", fault.at_ns));
  if (has_word(info.required, "for")) add("for", fmt::format("{}ns", fault.for_ns));
  if (has_word(info.required, "by")) add("by", fmt::format("{}ns", fault.by_ns));
  return fmt::format("{}:{}", info.name, keys);
}

Faults::Faults(std::vector<Fault> plan, std::uint64_t seed, int ranks)
    : plan_(std::move(plan)), matches_(plan_.size()), random_(~seed) {
  for (const Fault& fault : plan_) {
    for (const int rank : {fault.rank, fault.from.value_or(0), fault.to.value_or(0)}) {
      if (rank >= ranks) {
        throw ConfigError(
            fmt::format("fault '{}': rank {} is out of range: the world has ranks 0 "
                        "to {}",
                        describe(fault), rank, ranks - 1));
      }
    }
  }
}

Mishap Faults::draw(int source, int target, bool is_payload) {
  Mishap mishap;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const Fault& fault = plan_[i];
    if (!fault.probability && !fault.nth) continue;  // comes at its time
    if (fault.from.value_or(source) != source || fault.to.value_or(target) != target) continue;
    // Payloads have no order, and come once: each has a place of its own.
    const bool of_lanes = fault.kind == FaultKind::reorder || fault.kind == FaultKind::duplicate;
    if (is_payload && of_lanes) continue;
    const std::uint64_t match = matches_[i]++;
    const bool hit = fault.nth ? *fault.nth == match
                               : std::generate_canonical<double, 53>(random_) < *fault.probability;
    if (!hit) continue;
    switch (fault.kind) {
      case FaultKind::delay:
        mishap.delay_ns += fault.by_ns;
        break;
      case FaultKind::reorder:
        mishap.overtaken_ns = fault.by_ns;
        break;
      case FaultKind::duplicate:
        mishap.duplicate = true;
        break;
      case FaultKind::drop:
        mishap.drop = true;
        break;
      case FaultKind::corrupt:
        mishap.corrupt = true;
        break;
      case FaultKind::clog:
      case FaultKind::pause:
      case FaultKind::die:
        break;
    }
  }
  return mishap;
}

std::uint64_t Faults::clogged_until(int source, int target, std::uint64_t time_ns) const {
  const auto clogged = [&](const Fault& fault) {
    return fault.kind == FaultKind::clog && fault.from == source && fault.to == target &&
           time_ns >= fault.at_ns && time_ns < fault.at_ns + fault.for_ns;
  };
  // The end of one may lie in another one.
  for (auto fault = plan_.begin(); fault != plan_.end();) {
    fault = std::ranges::find_if(plan_, clogged);
    if (fault != plan_.end()) time_ns = fault->at_ns + fault->for_ns;
  }
  return time_ns;
}

}  // namespace shoal::sim
