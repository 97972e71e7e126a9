#pragma once
// The lines that name tasks that wait for events, and events that no task takes.

#include "event/matcher.hpp"

#include <shoal/event/event.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::event {

/// Events of one name, source and type.
struct Unconsumed {
  std::string name;
  int source = 0;
  std::string type;
  std::uint64_t count = 0;
};

/// Consumers and events that are left when nothing runs any more.
struct Leftovers {
  std::vector<WaitingConsumer> waiting;  // the first ones
  std::uint64_t waiting_count = 0;       // of all; with the later and the starved instances
  std::vector<Unconsumed> unconsumed;
  std::vector<Rank> held_sources;  // events from there wait for earlier ones that have not come
};

/// At most kLinesMax tasks and as many kinds of events, and how many more; each with a hint if
/// an event and a dependency differ a little only.
inline constexpr std::size_t kLinesMax = 16;
[[nodiscard]] std::vector<std::string> describe(const std::string& events,
                                                const Leftovers& leftovers);

/// Type of a fired event, as people write it: "int", "std::vector<double>", "nothing".
[[nodiscard]] std::string type_of(const Content& content);

}  // namespace shoal::event
