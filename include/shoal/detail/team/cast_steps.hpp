#pragma once
// Functions of a recipient of a large multicast.

#include <shoal/detail/base/function.hpp>

namespace shoal::messaging {

/// Each runs in a handler, once, unless the scope fails.
struct CastSteps {
  Function<void()> arrived{};  // the payload has come: it may be read. May be empty
  Function<void()> done{};     // it was passed on, too: it may be changed
};

}  // namespace shoal::messaging
