#include "bfs/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "bfs/statistics.hpp"
#include "common/report.hpp"

namespace bfs {
namespace {

constexpr double kMiBPerByte = 1.0 / (1024 * 1024);

std::vector<double> values_of(const Results& results,
                              const std::function<double(const RootResult&)>& value) {
  std::vector<double> values;
  values.reserve(results.searches.size());
  for (const RootResult& search : results.searches) values.push_back(value(search));
  return values;
}

/// Values for which the specification wants statistics.
struct AllStatistics {
  explicit AllStatistics(const Results& results)
      : seconds(statistics_of(
            values_of(results, [](const RootResult& search) { return search.seconds; }))),
        edges(statistics_of(values_of(
            results,
            [](const RootResult& search) { return static_cast<double>(search.reach.edges); }))),
        teps(statistics_of_rates(
            values_of(results, [](const RootResult& search) { return search.teps(); }))) {}

  Statistics seconds;
  Statistics edges;
  Statistics teps;
};

void print_searches(const Results& results) {
  fmt::print("  {:>12} {:>12} {:>7} {:>14} {:>11} {:>11}\n", "root", "vertices", "levels", "edges",
             "seconds", "TEPS");
  for (const RootResult& search : results.searches) {
    fmt::print("  {:>12} {:>12} {:>7} {:>14} {:>11.4g} {:>11.4g}\n", search.root,
               search.reach.vertices, search.reach.depth + 1, search.reach.edges, search.seconds,
               search.teps());
  }
}

void print_statistics(const Results& results) {
  const AllStatistics all(results);
  const auto line = [&](const char* label, double Statistics::*value) {
    fmt::print("  {:<20} {:>11.4g} {:>11.4g} {:>11.4g}\n", label, all.seconds.*value,
               all.edges.*value, all.teps.*value);
  };
  fmt::print("  {:<20} {:>11} {:>11} {:>11}\n", "", "seconds", "edges", "TEPS");
  line("minimum", &Statistics::min);
  line("first quartile", &Statistics::first_quartile);
  line("median", &Statistics::median);
  line("third quartile", &Statistics::third_quartile);
  line("maximum", &Statistics::max);
  line("mean", &Statistics::mean);
  line("standard deviation", &Statistics::deviation);
  fmt::print("  the mean of TEPS is the harmonic one, with its standard deviation\n");
}

nlohmann::json json_of(const Statistics& statistics) {
  return {{"min", statistics.min},
          {"first_quartile", statistics.first_quartile},
          {"median", statistics.median},
          {"third_quartile", statistics.third_quartile},
          {"max", statistics.max},
          {"mean", statistics.mean},
          {"deviation", statistics.deviation}};
}

std::string checksum_text(const Results& results) {
  return fmt::format("{:016x}", results.checksum());
}

}  // namespace

bool Results::good() const {
  return std::ranges::all_of(searches, &std::string::empty, &RootResult::faults);
}

std::uint64_t Results::checksum() const {
  std::uint64_t sum = 0;
  for (const RootResult& search : searches) sum += search.reach.checksum;
  return sum;
}

void print(const shoal::World& world, const Options& options, const Results& results) {
  apps::print_title("bfs", world, fmt::format("{}, variant {}", results.graph, options.variant));
  apps::print_line("graph",
                   fmt::format("{} vertices, {} edges", results.vertex_count, results.edge_count));
  apps::print_line("construction", fmt::format("{:.4g} s, with making or reading the edges",
                                               results.construction_seconds));
  print_searches(results);
  print_statistics(results);
  apps::print_line("messages", fmt::format("{}, {:.1f} MiB", results.messages,
                                           static_cast<double>(results.bytes) * kMiBPerByte));
  apps::print_line("checksum", fmt::format("{} of all levels", checksum_text(results)));
  const std::size_t count = results.searches.size();
  if (static_cast<int>(count) < options.roots) {
    apps::print_line("roots", fmt::format("{} instead of {}: no more vertices have an edge", count,
                                          options.roots));
  }
  for (const RootResult& search : results.searches) {
    if (search.faults.empty()) continue;
    apps::print_line("WRONG TREE", fmt::format("of root {}: {}", search.root, search.faults));
  }
  if (options.verify && results.good()) {
    apps::print_line("trees", fmt::format("all {} are good", count));
  }
}

nlohmann::json to_json(const shoal::World& world, const Options& options, const Results& results) {
  const AllStatistics all(results);
  nlohmann::json searches = nlohmann::json::array();
  for (const RootResult& search : results.searches) {
    searches.push_back({{"root", search.root},
                        {"vertices", search.reach.vertices},
                        {"levels", search.reach.depth + 1},
                        {"edges", search.reach.edges},
                        {"seconds", search.seconds},
                        {"teps", search.teps()},
                        {"faults", search.faults}});
  }
  return {{"program", "bfs"},
          {"launch", apps::describe(world.launch())},
          {"ranks", world.size()},
          {"workers", world.worker_count()},
          {"graph", results.graph},
          {"variant", options.variant},
          {"vertices", results.vertex_count},
          {"edges", results.edge_count},
          {"construction_seconds", results.construction_seconds},
          {"verified", options.verify},
          {"messages", results.messages},
          {"bytes", results.bytes},
          {"checksum", checksum_text(results)},
          {"searches", searches},
          {"seconds", json_of(all.seconds)},
          {"nedge", json_of(all.edges)},
          {"teps", json_of(all.teps)}};
}

}  // namespace bfs
