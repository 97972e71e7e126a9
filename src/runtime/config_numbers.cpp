#include "runtime/config_numbers.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace shoal::runtime {

void refuse(const Setting& setting, std::string_view problem, std::string_view allowed) {
  throw ConfigError(fmt::format("{}: {}; allowed: {}", setting.where, problem, allowed));
}

std::string show(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.suffix);
    }
  }
  return fmt::format("{}{}", value, units.back().suffix);
}

std::string allowed_text(const NumberKind& kind) {
  return fmt::format("{} to {}{}", show(kind.min, kind.units), show(kind.max, kind.units),
                     kind.example);
}

std::uint64_t parse_number(const Setting& setting, const NumberKind& kind) {
  const std::string& text = setting.value;
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  const auto unit = std::find_if(kind.units.begin(), kind.units.end(),
                                 [&](const Unit& u) { return u.suffix == suffix; });
  if (rest == text.data() || unit == kind.units.end()) {
    refuse(setting, fmt::format("'{}' is not {}", text, kind.what), allowed_text(kind));
  }
  if (error == std::errc::result_out_of_range || number > kind.max / unit->factor ||
      number * unit->factor < kind.min) {
    refuse(setting, fmt::format("{} is out of range", text), allowed_text(kind));
  }
  return number * unit->factor;
}

}  // namespace shoal::runtime
