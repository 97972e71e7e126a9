#include "sim/net_model.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <vector>

namespace shoal::sim {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& problem) {
  throw ConfigError(
      fmt::format("network model '{}': {}; allowed: zero, fixed:LATENCY,BANDWIDTH (for example "
                  "fixed:2us,10G) or loggp:L,o,g,G,EAGER (for example "
                  "loggp:1us,300ns,200ns,100ps,8192)",
                  text, problem));
}

double need_value(const std::string& text, const std::string& part, Units units) {
  const std::optional<double> value = parse_value(part, units);
  if (!value) refuse(text, fmt::format("'{}' is not a number with its unit", part));
  if (*value > 1e15) refuse(text, fmt::format("'{}' is too large", part));
  return *value;
}

}  // namespace

std::uint64_t LogGP::busy_ns(std::uint64_t bytes) const {
  const double wire = std::max(gap_ns, static_cast<double>(bytes) * byte_gap_ns);
  return static_cast<std::uint64_t>(std::llround(overhead_ns + wire));
}

std::uint64_t LogGP::travel_ns() const {
  return static_cast<std::uint64_t>(std::llround(latency_ns + overhead_ns));
}

LogGP parse_net_model(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::vector<std::string> parts =
      colon == std::string::npos ? std::vector<std::string>() : split(text.substr(colon + 1), ',');
  const auto need = [&](std::size_t count) {
    if (parts.size() != count) {
      refuse(text, fmt::format("{} takes {} values, not {}", kind, count, parts.size()));
    }
  };
  LogGP model;
  if (kind == "zero") {
    need(0);
  } else if (kind == "fixed") {
    need(2);
    model.latency_ns = need_value(text, parts[0], time_units());
    const double bandwidth = need_value(text, parts[1], byte_units());
    if (bandwidth <= 0) refuse(text, "the bandwidth is 0");
    model.byte_gap_ns = 1e9 / bandwidth;
  } else if (kind == "loggp") {
    need(5);
    model.latency_ns = need_value(text, parts[0], time_units());
    model.overhead_ns = need_value(text, parts[1], time_units());
    model.gap_ns = need_value(text, parts[2], time_units());
    model.byte_gap_ns = need_value(text, parts[3], time_units());
    model.eager_bytes = static_cast<std::uint64_t>(need_value(text, parts[4], byte_units()));
  } else {
    refuse(text, fmt::format("'{}' is unknown", kind));
  }
  return model;
}

namespace {

constexpr std::array<std::pair<std::string_view, double>, 8> kTimeUnits{{{"ps", 1e-3},
                                                                         {"ns", 1},
                                                                         {"us", 1e3},
                                                                         {"ms", 1e6},
                                                                         {"s", 1e9},
                                                                         {"m", 60e9},
                                                                         {"min", 60e9},
                                                                         {"h", 3600e9}}};
constexpr std::array<std::pair<std::string_view, double>, 4> kByteUnits{
    {{"", 1}, {"K", 1024}, {"M", 1024.0 * 1024}, {"G", 1024.0 * 1024 * 1024}}};

}  // namespace

Units time_units() { return kTimeUnits; }
Units byte_units() { return kByteUnits; }

std::optional<double> parse_value(const std::string& text, Units units) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  const auto unit = std::ranges::find(units, suffix, [](const auto& u) { return u.first; });
  if (error != std::errc() || unit == units.end() || !std::isfinite(value) || value < 0) {
    return std::nullopt;
  }
  return value * unit->second;
}

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace shoal::sim
