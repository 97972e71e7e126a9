#pragma once
// Text and JSON of what is known about running ranks.

#include "top/page.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::top {

enum class Order { rank, busy, tasks, ready, parked, messages, bytes, window, memory };

/// Names of the orders, in theirs.
const std::vector<std::string>& order_names();

/// Lines of at most `width` columns, without the line ends: for each run its program, then a line
/// for each rank; within a run the rank with most comes first, unless the order is by rank.
std::vector<std::string> lines_of(const Overview& overview, Order order, std::size_t width);

/// An object with `ranks`, in the order of their numbers.
std::string json_of(const Overview& overview);

/// "####----" of so many columns.
std::string bar(double share, std::size_t columns);
/// Returns the number with a unit prefix: "12.3k".
std::string short_number(double value);

}  // namespace shoal::top
