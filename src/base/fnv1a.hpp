#pragma once
// Hash of a text that is the same on every machine and in every process, as files need it.

#include <cstdint>
#include <string_view>

namespace shoal {

/// Returns FNV-1a of 64 bits; `hash`: that of the text before this one.
[[nodiscard]] constexpr std::uint64_t fnv1a64(std::string_view text,
                                              std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace shoal
