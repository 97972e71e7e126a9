// The side of MPI alone: a message for each edge between ranks. "nonblocking": tasks run as soon as
// what they depend on is there; "bulk": all ranks exchange between two steps.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "common/stopwatch.hpp"
#include "metg/side.hpp"
#include "ranks/mpi_side.hpp"

namespace {

using bench::MpiWorld;
using metg::Columns;
using metg::Graph;
using metg::Value;
using metg::Work;

/// The messages of one run of a graph.
class Exchange {
 public:
  Exchange(const MpiWorld& world, Work& work)
      : world_(world), work_(work), mine_(metg::share_of(width(), world.size(), world.rank())) {
    const auto edges_max = static_cast<std::size_t>(width()) * static_cast<std::size_t>(width());
    for (Arrivals& arrivals : arrivals_) arrivals.values.resize(edges_max);
    for (Departures& departures : departures_) departures.values.resize(edges_max);
  }

  [[nodiscard]] const Graph& graph() const { return work_.graph(); }
  [[nodiscard]] Columns columns(int step) const {
    return {mine_.first, std::min(mine_.last, graph().width_at(step))};
  }

  /// Receives the dependencies of a step from other ranks.
  void post_receives(int step) {
    Arrivals& arrivals = arrivals_[static_cast<std::size_t>(step % 2)];
    arrivals.from.clear();
    arrivals.requests.clear();
    if (step == graph().steps()) return;
    const Columns own = columns(step);
    for (int column = own.first; column < own.last; ++column) {
      for (const int from : graph().dependencies(step, column)) {
        if (mine_.contains(from)) continue;
        Value& place = arrivals.values[arrivals.from.size()];
        arrivals.from.push_back(from);
        MPI_Irecv(&place, 1, MPI_UINT64_T, owner(from), tag(from, column), MPI_COMM_WORLD,
                  &arrivals.requests.emplace_back());
      }
    }
  }
  void wait_for_receives(int step) {
    Arrivals& arrivals = arrivals_[static_cast<std::size_t>(step % 2)];
    MPI_Waitall(static_cast<int>(arrivals.requests.size()), arrivals.requests.data(),
                MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < arrivals.from.size(); ++i) {
      work_.receive(step - 1, arrivals.from[i], arrivals.values[i]);
    }
  }

  /// To those of other ranks that depend on the task.
  void send(int step, int column) {
    Departures& departures = departures_[static_cast<std::size_t>(step % 2)];
    for (const int to : graph().dependants(step, column)) {
      if (mine_.contains(to)) continue;
      Value& place = departures.values[departures.requests.size()];
      place = work_.value(step, column);
      MPI_Isend(&place, 1, MPI_UINT64_T, owner(to), tag(column, to), MPI_COMM_WORLD,
                &departures.requests.emplace_back());
    }
  }
  /// Waits until the messages of the step are sent.
  void wait_for_sends(int step) {
    Departures& departures = departures_[static_cast<std::size_t>(step % 2)];
    MPI_Waitall(static_cast<int>(departures.requests.size()), departures.requests.data(),
                MPI_STATUSES_IGNORE);
    departures.requests.clear();
  }

 private:
  struct Arrivals {
    std::vector<Value> values;
    std::vector<int> from;  // columns, of the values
    std::vector<MPI_Request> requests;
  };
  struct Departures {
    std::vector<Value> values;
    std::vector<MPI_Request> requests;
  };

  [[nodiscard]] int width() const { return graph().width(); }
  [[nodiscard]] int owner(int column) const {
    return metg::owner_of(width(), world_.size(), column);
  }
  [[nodiscard]] int tag(int from, int to) const { return from * width() + to; }

  const MpiWorld& world_;
  Work& work_;
  const Columns mine_;
  // For even and for odd steps.
  std::array<Arrivals, 2> arrivals_;
  std::array<Departures, 2> departures_;
};

class Mpi final : public metg::Side {
 public:
  Mpi(const MpiWorld& world, const metg::Options& options)
      : world_(world), is_bulk_(options.form == "bulk") {}

  [[nodiscard]] std::string name() const override { return "mpi"; }
  [[nodiscard]] int cores() const override { return world_.size(); }
  [[nodiscard]] int rank() const override { return world_.rank(); }
  [[nodiscard]] int rank_count() const override { return world_.size(); }
  double largest(double value) override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
  }
  [[nodiscard]] bench::Values config() const override {
    return {{"launch", "mpi"}, {"library", MpiWorld::library()}};
  }

  double run(Work& work) override {
    Exchange exchange(world_, work);
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    if (is_bulk_) {
      run_bulk(exchange, work);
    } else {
      run_nonblocking(exchange, work);
    }
    return largest(watch.seconds());
  }

 private:
  // The messages of a step are received during the step before.
  static void run_nonblocking(Exchange& exchange, Work& work) {
    const int steps = exchange.graph().steps();
    for (int step = 0; step < steps; ++step) {
      exchange.wait_for_receives(step);
      exchange.post_receives(step + 1);
      const Columns own = exchange.columns(step);
      for (int column = own.first; column < own.last; ++column) {
        work.run_task(step, column);
        exchange.send(step, column);
      }
      if (step > 0) exchange.wait_for_sends(step - 1);
    }
    exchange.wait_for_sends(steps - 1);
  }

  // First all tasks of a step, then all its messages.
  static void run_bulk(Exchange& exchange, Work& work) {
    for (int step = 0; step < exchange.graph().steps(); ++step) {
      const Columns own = exchange.columns(step);
      for (int column = own.first; column < own.last; ++column) work.run_task(step, column);
      exchange.post_receives(step + 1);
      for (int column = own.first; column < own.last; ++column) exchange.send(step, column);
      exchange.wait_for_receives(step + 1);
      exchange.wait_for_sends(step);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }

  const MpiWorld& world_;
  const bool is_bulk_;
};

}  // namespace

int main(int argc, char** argv) {
  const MpiWorld world(argc, argv, MPI_THREAD_SINGLE);
  metg::Options options;
  const bench::Program program{"metg_mpi", "Minimum effective task granularity of MPI alone.",
                               [&](cli::App& app) {
                                 metg::add_options(app, options, {"nonblocking", "bulk"});
                               },
                               [&] {
                                 Mpi side(world, options);
                                 return metg::measure(side, options);
                               }};
  return bench::run_program(program, bench::arguments_of(argc, argv), world.rank() == 0);
}
