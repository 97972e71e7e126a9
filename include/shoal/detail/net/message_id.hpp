#pragma once
// Identifiers of messages in traces. Both ends derive them from the order of the messages on their
// link, so that none travels.

#include <shoal/detail/net/packet.hpp>
#include <shoal/detail/trace/event.hpp>
#include <shoal/rank.hpp>

#include <cstdint>

namespace shoal::net {

/// `number`: of the message on the lane from `source` to `target`, from 1. Unique in a run, except
/// links with more than 4 million messages in worlds of more than 1024 ranks.
[[nodiscard]] constexpr std::uint64_t trace_id(Rank source, Rank target, Lane lane,
                                               std::uint32_t number) {
  if (lane != Lane::normal) number += 1U << 31U;  // one lane but control is left
  const auto to = static_cast<std::uint32_t>(target.value());
  // From the 1024th rank on, numbers of targets repeat; their messages count from elsewhere.
  return trace::make_id(static_cast<std::uint32_t>(source.value()), to,
                        number + ((to >> 10U) << 22U));
}

}  // namespace shoal::net
