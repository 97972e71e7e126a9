// The pipeline of apps/insitu as a bespoke MPI program, written the obvious way: what bench/insitu
// compares with. The reductions are collective, so all analytics ranks take the items in one order
// that they agree on, and keep what comes early until its turn.

#include <fmt/format.h>
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "common/options.hpp"
#include "common/output_file.hpp"
#include "common/random_matrix.hpp"
#include "insitu/field.hpp"
#include "insitu/options.hpp"

namespace {

using insitu::Diagnostics;
using insitu::Item;
using insitu::Options;

double now_s() { return MPI_Wtime(); }

/// An item on its way: its place and time, and the values behind them.
struct Header {
  Item item;
  double sent_s;
};

struct Part {
  double sent_s;
  Diagnostics diagnostics;
};

struct Totals {
  std::int64_t items = 0;
  std::int64_t wrong = 0;
  double latency_s = 0;
};

std::size_t message_bytes(const Options& options) {
  return sizeof(Header) + sizeof(double) * static_cast<std::size_t>(options.size);
}

void compute(const Options& options, int rank, int target) {
  std::mt19937_64 random(apps::mix_bits(options.seed + static_cast<std::uint64_t>(rank)));
  std::vector<std::byte> message(message_bytes(options));
  for (const Item& item :
       insitu::item_order(options.seed, rank, options.timesteps, options.fields)) {
    if (options.pause_us > 0) {
      const auto pause = random() % static_cast<std::uint64_t>(options.pause_us + 1);
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
    }
    const std::vector<double> values = insitu::make_field(options.seed, rank, item, options.size);
    const Header header{item, now_s()};
    std::memcpy(message.data(), &header, sizeof header);
    std::memcpy(message.data() + sizeof header, values.data(), sizeof(double) * values.size());
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, target, 0, MPI_COMM_WORLD);
  }
}

Diagnostics expected(const Options& options, int ranks, const Item& item) {
  Diagnostics all;
  for (int rank = 0; rank < ranks; ++rank) {
    all = insitu::merge(
        all, insitu::analyse(insitu::make_field(options.seed, rank, item, options.size)));
  }
  return all;
}

/// Collective: brings the parts of one item to its root.
void reduce(const Options& options, const Item& item, const Part& part, MPI_Comm analytics,
            Totals& totals) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(analytics, &size);
  MPI_Comm_rank(analytics, &rank);
  const int root = (item.timestep * options.fields + item.field) % size;
  std::vector<Part> parts(static_cast<std::size_t>(size));
  MPI_Gather(&part, sizeof part, MPI_BYTE, parts.data(), sizeof part, MPI_BYTE, root, analytics);
  if (rank != root) return;
  Diagnostics all;
  for (const Part& one : parts) {
    all = insitu::merge(all, one.diagnostics);
    totals.latency_s += now_s() - one.sent_s;
  }
  totals.items += size;
  if (options.verify && !(all == expected(options, size, item))) ++totals.wrong;
}

Totals analyse_all(const Options& options, int source, MPI_Comm analytics) {
  Totals totals;
  std::map<std::pair<int, int>, Part> early;
  std::vector<std::byte> message(message_bytes(options));
  std::vector<double> values(static_cast<std::size_t>(options.size));
  for (int timestep = 0; timestep < options.timesteps; ++timestep) {
    for (int field = 0; field < options.fields; ++field) {
      while (!early.contains({timestep, field})) {
        MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_BYTE, source, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        Header header{};
        std::memcpy(&header, message.data(), sizeof header);
        std::memcpy(values.data(), message.data() + sizeof header, sizeof(double) * values.size());
        early[{header.item.timestep, header.item.field}] = {header.sent_s, insitu::analyse(values)};
      }
      auto node = early.extract({timestep, field});
      reduce(options, {timestep, field}, node.mapped(), analytics, totals);
    }
  }
  return totals;
}

int run(const Options& options) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size % 2 != 0) {
    if (rank == 0) fmt::print(stderr, "insitu_mpi: start an even number of processes\n");
    return 2;
  }
  const int half = size / 2;
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < half ? 0 : 1, rank, &group);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin_s = now_s();
  Totals own;
  if (rank < half) {
    compute(options, rank, rank + half);
  } else {
    own = analyse_all(options, rank - half, group);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = now_s() - begin_s;
  Totals all;
  MPI_Reduce(&own.items, &all.items, 2, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&own.latency_s, &all.latency_s, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Comm_free(&group);
  if (rank != 0) return 0;
  const double rate = static_cast<double>(all.items) / seconds;
  const double latency_us = all.latency_s * 1e6 / static_cast<double>(all.items);
  const bool good =
      all.wrong == 0 && all.items == std::int64_t{options.timesteps} * options.fields * half;
  if (!apps::is_standard_output(options.json)) {
    fmt::print(
        "insitu_mpi: {} processes\n  items {} in {:.4g} s: {:.4g} per second\n"
        "  latency {:.4g} us, mean\n  results {}\n",
        size, all.items, seconds, rate, latency_us, good ? "good" : "wrong");
  }
  const nlohmann::json json{{"items_per_second", rate}, {"latency_us", latency_us}};
  const bool written = apps::write_json(options.json, json);
  return written && good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  cli::App app("The pipeline of insitu as a bespoke MPI program.", "insitu_mpi");
  Options options;
  insitu::add_options(app, options);
  const auto refused = app.parse(argc, argv);
  const int code = refused ? *refused : run(options);
  MPI_Finalize();
  return code;
}
