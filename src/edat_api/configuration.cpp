#include "edat_api/configuration.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

namespace shoal::edat_api {

namespace {

constexpr std::string_view kWorkers = "EDAT_NUM_WORKERS";
constexpr std::string_view kProgressThread = "EDAT_PROGRESS_THREAD";
constexpr std::string_view kReport = "EDAT_REPORT_WORKER_MAPPING";
constexpr std::string_view kMapping = "EDAT_WORKER_MAPPING";
constexpr std::string_view kMainThread = "EDAT_MAIN_THREAD_WORKER";
constexpr std::array kKeys{kWorkers, kProgressThread, kReport, kMapping, kMainThread};

// Keys that tune the original in ways that shoal has no use for.
constexpr std::array<std::string_view, 3> kWithoutEffect{
    "EDAT_BATCH_EVENTS", "EDAT_MAX_BATCHED_EVENTS", "EDAT_BATCHING_EVENTS_TIMEOUT"};

struct Setting {
  std::string where;
  std::string value;
};

std::string changed(std::string text, int (*change)(int)) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [change](unsigned char letter) { return static_cast<char>(change(letter)); });
  return text;
}

bool contains(std::span<const std::string_view> keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

[[noreturn]] void refuse(const Setting& setting, std::string_view allowed) {
  throw ConfigError(
      fmt::format("{}: '{}' is not allowed; allowed: {}", setting.where, setting.value, allowed));
}

bool to_bool(const Setting& setting) {
  const std::string value = changed(setting.value, std::tolower);
  if (value != "true" && value != "false") refuse(setting, "true, false");
  return value == "true";
}

std::string to_workers(const Setting& setting) {
  const bool is_number = !setting.value.empty() && setting.value.size() <= 4 &&
                         std::all_of(setting.value.begin(), setting.value.end(),
                                     [](unsigned char letter) { return std::isdigit(letter); });
  if (!is_number || setting.value.find_first_not_of('0') == std::string::npos) {
    refuse(setting, "a whole number from 1");
  }
  return setting.value;
}

std::string to_pin(const Setting& setting) {
  const std::string value = changed(setting.value, std::tolower);
  if (value == "auto") return "none";
  if (value != "linear" && value != "linearfromcore") {
    refuse(setting, "auto, linear, linearfromcore");
  }
  return "core";
}

}  // namespace

Configuration read_configuration(
    std::span<const std::pair<std::string, std::string>> pairs,
    const std::function<std::optional<std::string>(const std::string&)>& environment) {
  Configuration result;
  std::map<std::string, Setting, std::less<>> settings;
  for (const std::string_view key : kKeys) {
    const auto value = environment(std::string(key));
    if (value.has_value() && !value->empty()) {
      settings[std::string(key)] = {fmt::format("environment variable {}", key), *value};
    }
  }
  for (const auto& [given_key, value] : pairs) {
    const std::string key = changed(given_key, std::toupper);
    if (contains(kWithoutEffect, key)) {
      result.notes.push_back(fmt::format("{} has no effect here", key));
    } else if (contains(kKeys, key)) {
      settings[key] = {fmt::format("key {}", key), value};
    } else {
      throw ConfigError(
          fmt::format("key {} is unknown (known: {})", given_key, fmt::join(kKeys, ", ")));
    }
  }

  const auto find = [&](std::string_view key) -> const Setting* {
    const auto found = settings.find(key);
    return found == settings.end() ? nullptr : &found->second;
  };
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
  // The thread of main() only sleeps in edatFinalise: there is one worker for each CPU without it.
  if (const auto* const setting = find(kMainThread)) static_cast<void>(to_bool(*setting));
  return result;
}

}  // namespace shoal::edat_api
