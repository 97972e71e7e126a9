#pragma once
// Likeness of texts, for "did you mean".

#include <cstddef>
#include <string_view>

namespace shoal {

/// How many letters have to be changed, added, left out, or exchanged with the next one, to make
/// one of the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace shoal
