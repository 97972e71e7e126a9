#include "edat_api/configuration.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace shoal::edat_api {

namespace {

constexpr std::string_view kWorkers = "EDAT_NUM_WORKERS";
constexpr std::string_view kProgressThread = "EDAT_PROGRESS_THREAD";
constexpr std::string_view kReport = "EDAT_REPORT_WORKER_MAPPING";
constexpr std::string_view kMapping = "EDAT_WORKER_MAPPING";
constexpr std::string_view kMainThread = "EDAT_MAIN_THREAD_WORKER";
constexpr std::string_view kAddresses = "EDAT_ADDRESS_RULE";  // not in the original
constexpr std::string_view kBridge = "EDAT_ENABLE_BRIDGE";
constexpr std::string_view kResilience = "EDAT_RESILIENCE";
constexpr std::array kKeys{kWorkers,    kProgressThread, kReport, kMapping,
                           kMainThread, kAddresses,      kBridge, kResilience};

/// Settings of the original without effect here, and why.
struct Ignored {
  std::string_view key;
  std::string_view why;
};
constexpr std::string_view kNoBatches = "events are handed on as they arrive";
constexpr std::string_view kNoResilience = "there is no resilience";
constexpr std::array<Ignored, 5> kIgnored{{{"EDAT_BATCH_EVENTS", kNoBatches},
                                           {"EDAT_MAX_BATCHED_EVENTS", kNoBatches},
                                           {"EDAT_BATCHING_EVENTS_TIMEOUT", kNoBatches},
                                           {"EDAT_COMM_TIMEOUT", kNoResilience},
                                           {"EDAT_BEAT_PERIOD", kNoResilience}}};

/// Names of earlier releases of the original, with those of today.
struct Renamed {
  std::string_view old;
  std::string_view key;
};
constexpr std::array<Renamed, 3> kRenamed{{{"EDAT_NUM_THREADS", kWorkers},
                                           {"EDAT_REPORT_THREAD_MAPPING", kReport},
                                           {"EDAT_THREAD_MAPPING", kMapping}}};

struct Setting {
  std::string where;
  std::string value;
};

// Of ASCII alone, whatever the locale: Turkish has no lower case of one byte for I.
std::string to_lower(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

std::string to_upper(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

[[noreturn]] void refuse_setting(const Setting& setting, std::string_view allowed) {
  throw ConfigError(
      fmt::format("{}: '{}' is not allowed; allowed: {}", setting.where, setting.value, allowed));
}

bool to_bool(const Setting& setting) {
  const std::string value = to_lower(setting.value);
  if (value != "true" && value != "false") refuse_setting(setting, "true, false");
  return value == "true";
}

std::string to_workers(const Setting& setting) {
  const bool is_number = !setting.value.empty() && setting.value.size() <= 4 &&
                         std::all_of(setting.value.begin(), setting.value.end(),
                                     [](char letter) { return letter >= '0' && letter <= '9'; });
  if (!is_number || setting.value.find_first_not_of('0') == std::string::npos) {
    refuse_setting(setting, "a whole number from 1");
  }
  return setting.value;
}

std::string to_pin(const Setting& setting) {
  const std::string value = to_lower(setting.value);
  if (value == "auto") return "none";
  if (value != "linear" && value != "linearfromcore") {
    refuse_setting(setting, "auto, linear, linearfromcore");
  }
  return "core";
}

AddressRule to_rule(const Setting& setting) {
  const std::string value = to_lower(setting.value);
  if (value != "library" && value != "paper") refuse_setting(setting, "library, paper");
  return value == "paper" ? AddressRule::paper : AddressRule::library;
}

void check_bridge(const Setting& setting) {
  if (to_lower(setting.value) != "false") {
    refuse_setting(setting, "false, as this library has no bridge");
  }
}

void check_resilience(const Setting& setting) {
  const std::string value = to_lower(setting.value);
  if (value != "0" && value != "false") {
    refuse_setting(setting, "0, false, as this library has no resilience");
  }
}

bool is_known(std::string_view key) {
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end() ||
         std::any_of(kIgnored.begin(), kIgnored.end(),
                     [key](const Ignored& one) { return one.key == key; }) ||
         std::any_of(kRenamed.begin(), kRenamed.end(),
                     [key](const Renamed& one) { return one.old == key; });
}

using Settings = std::map<std::string, Setting, std::less<>>;

Settings gather(std::span<const std::pair<std::string, std::string>> pairs,
                FunctionRef<std::optional<std::string>(const std::string&)> environment) {
  Settings settings;
  const auto read = [&](std::string_view name, std::string_view key) {
    const auto value = environment(std::string(name));
    if (value.has_value() && !value->empty()) {
      settings[std::string(key)] = {fmt::format("environment variable {}", name), *value};
    }
  };
  for (const auto& [given_key, value] : pairs) {
    const std::string key = to_upper(given_key);
    if (!is_known(key)) {
      throw ConfigError(
          fmt::format("key {} is unknown (known: {})", given_key, fmt::join(kKeys, ", ")));
    }
    settings[key] = {fmt::format("key {}", key), value};
  }
  for (const Renamed& one : kRenamed) {
    auto node = settings.extract(std::string(one.old));
    if (!node.empty()) {
      node.key() = one.key;
      settings.insert(std::move(node));  // unless there is one by the name of today
    }
    read(one.old, one.key);
  }
  for (const std::string_view key : kKeys) read(key, key);
  for (const Ignored& one : kIgnored) read(one.key, one.key);
  return settings;
}

}  // namespace

Configuration read_configuration(
    std::span<const std::pair<std::string, std::string>> pairs,
    FunctionRef<std::optional<std::string>(const std::string&)> environment) {
  const Settings settings = gather(pairs, environment);
  const auto find = [&](std::string_view key) -> const Setting* {
    const auto found = settings.find(key);
    return found == settings.end() ? nullptr : &found->second;
  };
  Configuration result;
  const auto add = [&](const char* option, std::string value) {
    result.arguments.emplace_back(option);
    result.arguments.push_back(std::move(value));
  };
  add("--ranks-per-process", "1");
  result.arguments.emplace_back("--shared-mpi");
  if (const auto* const setting = find(kWorkers)) add("--workers", to_workers(*setting));
  if (const auto* const setting = find(kProgressThread)) {
    add("--progress", to_bool(*setting) ? "thread" : "worker");
  }
  if (const auto* const setting = find(kMapping)) add("--pin", to_pin(*setting));
  if (const auto* const setting = find(kReport)) result.report_workers = to_bool(*setting);
  if (const auto* const setting = find(kMainThread)) result.main_is_worker = to_bool(*setting);
  if (const auto* const setting = find(kAddresses)) result.addresses = to_rule(*setting);
  if (const auto* const setting = find(kBridge)) check_bridge(*setting);
  if (const auto* const setting = find(kResilience)) check_resilience(*setting);
  for (const Ignored& one : kIgnored) {
    const auto* const setting = find(one.key);
    if (setting == nullptr) continue;
    result.notes.push_back(fmt::format("{} has no effect: {}", setting->where, one.why));
  }
  return result;
}

}  // namespace shoal::edat_api
