#pragma once
// Invocations that are counted outside the object's team.

#include <shoal/am/messenger.hpp>
#include <shoal/object/invocation.hpp>

#include <cstdint>
#include <memory>

namespace shoal::object {

/// Context on `to` of the invocations from context `parent`.
[[nodiscard]] std::uint64_t context_on(std::uint64_t parent, Rank to);

/// The invocation; the caller's team hears of its end.
[[nodiscard]] std::unique_ptr<Invocation> acknowledged(std::unique_ptr<Invocation> inner,
                                                       const Outside& outside,
                                                       const messaging::Messenger& messenger);

}  // namespace shoal::object
