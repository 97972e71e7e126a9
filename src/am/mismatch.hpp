#pragma once
// Messages that meet another handler than the one that their sender made.

#include <shoal/rank.hpp>

#include <cstdint>

namespace shoal::messaging {

class Channel;

/// A message from a member of the team was for its handler `index`, and the one of this rank has
/// another signature. Fails the team with a text that names both: the sender knows its own, and a
/// message asks it. **Caller**: the progress context.
void report_mismatch(Channel& channel, Rank sender, std::uint32_t index);

}  // namespace shoal::messaging
