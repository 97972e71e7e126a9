// Collective operations and teams of shoal: embedded with --ranks, or in the processes of an MPI
// launch.

#include <shoal/shoal.hpp>

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "common/result.hpp"
#include "teams/kernels.hpp"

namespace {

/// Counts events in handlers, for a main function that waits for a number of them.
class Events {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    if (++count_ == wanted_) reached_.set_value();
  }
  void wait_for(std::size_t count) {
    std::optional<shoal::Future<void>> reached;
    {
      const std::lock_guard lock(mutex_);
      if (count_ >= count) return;
      wanted_ = count;
      reached_ = shoal::Promise<void>();
      reached.emplace(reached_.future());
    }
    reached->get();
  }

 private:
  std::mutex mutex_;
  std::size_t count_ = 0;
  std::size_t wanted_ = 0;
  shoal::Promise<void> reached_;
};

/// Multicast of an array from rank 0 in place of a broadcast. A recipient says when it has room for
/// the next one, as a posted receive does.
class Multicast {
 public:
  explicit Multicast(shoal::World& world)
      : world_(world),
        room_(world.make_am([this] { rooms_.add(); })),
        message_(world.make_large_am<double>([this](std::size_t) { return place_; },
                                             [this](std::span<double>) { done_.add(); })) {
    for (int rank = 1; rank < world.size(); ++rank) others_.emplace_back(rank);
  }

  void run(std::span<double> values) {
    ++rounds_;
    if (world_.rank() == 0) {
      rooms_.wait_for(rounds_ * others_.size());
      message_.multicast(others_, values, shoal::on_release([this] { done_.add(); }));
    } else {
      place_ = values;
      room_.send(shoal::Rank(0));
    }
    done_.wait_for(rounds_);
  }

 private:
  shoal::World& world_;
  std::vector<shoal::Rank> others_;
  std::span<double> place_;
  std::size_t rounds_ = 0;
  Events rooms_;
  Events done_;
  shoal::ActiveMessage<> room_;
  shoal::LargeMessage<double> message_;
};

int run(shoal::World& world, const teams::Options& options) {
  bench::limit_time(options.run);
  Multicast multicast(world);
  const int rank = world.rank();
  const int size = world.size();
  const teams::Side side{
      .name = "shoal",
      .rank = rank,
      .size = size,
      .barrier = [&] { world.barrier(); },
      .sum = [&](std::int64_t value) { return world.allreduce(value, std::plus<>()); },
      .sum_array = [&](std::span<double> values) { world.allreduce(values, std::plus<>()); },
      .broadcast =
          [&](std::span<double> values) {
            if (options.kernel == "multicast") return multicast.run(values);
            world.broadcast(values, shoal::Rank(0));
          },
      .reduce =
          [&](std::span<double> values) { world.reduce(values, std::plus<>(), shoal::Rank(0)); },
      .scan = [&](std::span<double> values) { world.scan(values, std::plus<>()); },
      .gather = [&](std::span<const double> part,
                    std::span<double> all) { world.gather(part, all, shoal::Rank(0)); },
      .allgather = [&](std::span<const double> part,
                       std::span<double> all) { world.allgather(part, all); },
      .alltoall = [&](std::span<const double> all,
                      std::span<double> theirs) { world.alltoall(all, theirs); },
      .reduce_scatter =
          [&](std::span<const double> all, std::span<double> part) {
            world.reduce_scatter(all, part, std::plus<>());
          },
      .split = [&] { const shoal::Team half = world.split(rank % 2, rank); },
      .list =
          [&] {
            const auto turn = [&](int i) { return (i + 1) % size; };
            const auto back = [&](int i) { return (i + size - 1) % size; };
            const shoal::Team turned(world, size, turn, back);
          },
  };
  bench::Sample sample = teams::measure(options, side);
  sample.verified = world.allreduce(sample.verified, std::logical_and<>());
  if (rank != 0) return 0;
  const char* const launch = world.launch() == shoal::Launch::mpi ? "mpi" : "embedded";
  return teams::finish(options, side.name, sample,
                       {{"launch", launch}, {"ranks", size}, {"workers", world.worker_count()}});
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    teams::Options options;
    const bench::Program program{"teams_shoal",
                                 "Collective operations and teams with shoal; --help lists the "
                                 "options of shoal.",
                                 [&](cli::App& app) { teams::add_options(app, options); },
                                 [&] { return run(world, options); }};
    return bench::run_program(program, {world.args().begin() + 1, world.args().end()},
                              world.rank() == 0);
  });
}
