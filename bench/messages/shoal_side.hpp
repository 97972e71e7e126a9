#pragma once
// The message kernels written with shoal. Each measures one run; collective.

#include <shoal/shoal.hpp>

#include "messages/kernels.hpp"

namespace messages {

/// Balls between each even rank and the next one, all pairs at once: the mean over the pairs.
bench::Sample round_trip(shoal::World& world, const Options& options);
/// Items from rank 0 to rank 1, or to itself if it is alone.
bench::Sample rate(shoal::World& world, const Options& options);
/// Large messages from rank 0 to rank 1.
bench::Sample bandwidth(shoal::World& world, const Options& options);

}  // namespace messages
