#pragma once
// Places in the source at which a program has inserted tasks, one record for each task.

#include <shoal/detail/trace/event.hpp>

#include <cstdint>
#include <source_location>
#include <string_view>

#include "base/fnv1a.hpp"

namespace shoal::trace {

/// Type of these records. id: task, bytes: place_id() of the place, which is a fact about the name
/// of the task.
inline constexpr auto kInserted = static_cast<Detail::Type>(7);

/// Number of a place by its text FILE:LINE. Files store it.
[[nodiscard]] constexpr std::uint64_t place_id(std::string_view text) { return fnv1a64(text); }

/// Describes where `task`, which has the name, was inserted; line 0: that is not known. Untimed.
/// **Caller**: behind on(Category::task).
void describe_insertion(std::uint64_t task, std::string_view name,
                        const std::source_location& place) noexcept;

}  // namespace shoal::trace
