#include "sim/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace shoal::sim {

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
