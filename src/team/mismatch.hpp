#pragma once
// Messages that meet another handler than the one that their sender made.

#include <shoal/detail/team/core_fwd.hpp>
#include <shoal/rank.hpp>

#include <cstdint>

namespace shoal::messaging {

/// Fails the team because a message from a member was sent for its handler `index`, and that of
/// this rank has another signature. The text names both handlers: the sender knows its own, and a
/// message asks it. **Caller**: the progress context.
void report_mismatch(Channel& channel, Rank sender, std::uint32_t index);

}  // namespace shoal::messaging
