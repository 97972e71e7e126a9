#include "sim/net_model.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
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

using Units = std::span<const std::pair<std::string_view, double>>;
constexpr std::array<std::pair<std::string_view, double>, 5> kTimeUnits{
    {{"ps", 1e-3}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<std::pair<std::string_view, double>, 4> kByteUnits{
    {{"", 1}, {"K", 1024}, {"M", 1024.0 * 1024}, {"G", 1024.0 * 1024 * 1024}}};

double parse_value(const std::string& text, const std::string& part, Units units) {
  double value = 0;
  const char* const end = part.data() + part.size();
  const auto [rest, error] = std::from_chars(part.data(), end, value);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  const auto unit = std::ranges::find(units, suffix, [](const auto& u) { return u.first; });
  if (error != std::errc() || unit == units.end()) {
    refuse(text, fmt::format("'{}' is not a number with its unit", part));
  }
  if (!std::isfinite(value) || value < 0) refuse(text, fmt::format("'{}' is negative", part));
  return value * unit->second;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
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
      colon == std::string::npos ? std::vector<std::string>() : split(text.substr(colon + 1));
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
    model.latency_ns = parse_value(text, parts[0], kTimeUnits);
    const double bandwidth = parse_value(text, parts[1], kByteUnits);
    if (bandwidth <= 0) refuse(text, "the bandwidth is 0");
    model.byte_gap_ns = 1e9 / bandwidth;
  } else if (kind == "loggp") {
    need(5);
    model.latency_ns = parse_value(text, parts[0], kTimeUnits);
    model.overhead_ns = parse_value(text, parts[1], kTimeUnits);
    model.gap_ns = parse_value(text, parts[2], kTimeUnits);
    model.byte_gap_ns = parse_value(text, parts[3], kTimeUnits);
    model.eager_bytes = static_cast<std::uint64_t>(parse_value(text, parts[4], kByteUnits));
  } else {
    refuse(text, fmt::format("'{}' is unknown", kind));
  }
  return model;
}

}  // namespace shoal::sim
