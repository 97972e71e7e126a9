#include "contention/counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <papi.h>

#include <array>
#include <chrono>
#include <cstddef>

#include "common/input_error.hpp"

namespace contention {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLineBytes = 64;
constexpr const char* kUncore = "perf_event_uncore";  // PAPI's name for units outside the cores

/// Names of the events of a component of PAPI.
std::vector<std::string> events_of(int component) {
  std::vector<std::string> names;
  int code = PAPI_NATIVE_MASK;
  for (int found = PAPI_enum_cmp_event(&code, PAPI_ENUM_FIRST, component); found == PAPI_OK;
       found = PAPI_enum_cmp_event(&code, PAPI_ENUM_EVENTS, component)) {
    std::array<char, PAPI_MAX_STR_LEN> name{};
    if (PAPI_event_code_to_name(code, name.data()) == PAPI_OK) names.emplace_back(name.data());
  }
  return names;
}

/// Events of the memory controllers; without any, `reason` says why.
std::vector<std::string> found_events(const std::vector<int>& processors, std::string& reason) {
  const int component = PAPI_get_component_index(kUncore);
  std::vector<std::string> names;
  if (component >= 0) names = memory_events(events_of(component), processors);
  if (!names.empty()) return names;
  const auto* const info = component < 0 ? nullptr : PAPI_get_component_info(component);
  reason = info != nullptr && info->disabled != 0
               ? fmt::format("PAPI says '{}'", info->disabled_reason)
               : "PAPI knows none in the memory controllers of this machine";
  return names;
}

}  // namespace

/// Owner of a set of events.
struct Counters::Events {
  Events() = default;
  ~Events() {
    if (set == PAPI_NULL) return;
    PAPI_cleanup_eventset(set);
    PAPI_destroy_eventset(&set);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Empty, or the reason why one of the events cannot be counted.
  std::string open(const std::vector<std::string>& names) {
    int code = PAPI_create_eventset(&set);
    if (code != PAPI_OK) return PAPI_strerror(code);
    for (const std::string& name : names) {
      code = PAPI_add_named_event(set, name.c_str());
      if (code != PAPI_OK) return fmt::format("{}: {}", name, PAPI_strerror(code));
    }
    values.resize(names.size());
    code = PAPI_start(set);  // opens the counters of the system, which may refuse
    if (code == PAPI_OK) code = PAPI_stop(set, values.data());
    if (code == PAPI_OK) return {};
    return fmt::format(
        "{}: {}; counters outside the cores need kernel.perf_event_paranoid 0 or "
        "CAP_PERFMON",
        names.front(), PAPI_strerror(code));
  }

  int set = PAPI_NULL;
  std::vector<long long> values;  // by event
  Clock::time_point begin;
};

Counters::Counters(const std::vector<std::string>& events, const std::vector<int>& processors) {
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  std::string reason = version == PAPI_VER_CURRENT ? "" : "PAPI does not start";
  std::vector<std::string> names = events;
  if (reason.empty() && names.empty()) names = found_events(processors, reason);
  if (reason.empty()) {
    events_ = std::make_unique<Events>();
    reason = events_->open(names);
  }
  if (reason.empty()) {
    note_ =
        fmt::format("memory traffic of the whole machine is counted by {}", fmt::join(names, " "));
    return;
  }
  events_.reset();
  if (!events.empty()) throw apps::InputError(fmt::format("--counters: {}", reason));
  note_ = fmt::format("no memory counters: {}; bandwidths are bytes per time", reason);
}

Counters::~Counters() = default;

void Counters::start() {
  if (!is_counting()) return;
  static_cast<void>(PAPI_start(events_->set));  // a failure shows in stop()
  events_->begin = Clock::now();
}

std::optional<double> Counters::stop() {
  if (!is_counting()) return std::nullopt;
  const std::chrono::duration<double, std::micro> time = Clock::now() - events_->begin;
  if (PAPI_stop(events_->set, events_->values.data()) != PAPI_OK) return std::nullopt;
  double lines = 0;
  for (const long long value : events_->values) lines += static_cast<double>(value);
  if (lines <= 0 || time.count() <= 0) return std::nullopt;
  return lines * kLineBytes / time.count();
}

}  // namespace contention
