#pragma once
// Numbers as text, for pages.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::trace_tool {

[[nodiscard]] inline std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word =
          (word << 8U) | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_there = i + k <= bytes.size();
      text += is_there ? kDigits[(word >> (18 - 6 * k)) & 0x3fU] : '=';
    }
  }
  return text;
}

/// Numbers in base64, as the page's script reads them.
template <class Value>
[[nodiscard]] std::string column(const std::vector<Value>& values) {
  return base64(std::as_bytes(std::span(values)));
}

}  // namespace shoal::trace_tool
