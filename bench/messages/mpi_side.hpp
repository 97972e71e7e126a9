#pragma once
// The message kernels written with MPI alone. Each measures one run; collective.

#include "messages/kernels.hpp"
#include "ranks/mpi_side.hpp"

namespace messages {

/// Blocking sends and receives between each even rank and the next one: the mean over the pairs.
bench::Sample round_trip(const bench::MpiWorld& world, const Options& options);
/// Items from rank 0 to rank 1, a window of them under way per thread.
bench::Sample item_rate(const bench::MpiWorld& world, const Options& options);
/// The same with items of one word that are packed by hand.
bench::Sample packed_rate(const bench::MpiWorld& world, const Options& options);
/// Messages from rank 0 to rank 1, a window of them under way.
bench::Sample bandwidth(const bench::MpiWorld& world, const Options& options);

/// An empty message, after all the others of a run: rank 1 answers rank 0.
void answer(const bench::MpiWorld& world);

}  // namespace messages
