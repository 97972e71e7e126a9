#include "common/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace apps {
namespace {

constexpr double kMiBPerByte = 1.0 / (1024 * 1024);

void print_cost(std::string_view rank, const RankCost& cost, int workers) {
  const double busy = cost.seconds > 0 ? cost.busy_seconds / (cost.seconds * workers) : 0;
  fmt::print("  {:>6} {:>10.4g} {:>7.0f}% {:>10} {:>10} {:>12.1f}\n", rank, cost.seconds,
             100 * busy, cost.tasks, cost.messages, static_cast<double>(cost.bytes) * kMiBPerByte);
}

}  // namespace

std::string_view describe(shoal::Launch launch) {
  switch (launch) {
    case shoal::Launch::mpi:
      return "MPI";
    case shoal::Launch::simulated:
      return "simulated";
    case shoal::Launch::embedded:
      break;
  }
  return "embedded";
}

void print_title(std::string_view program, const shoal::World& world, std::string_view problem) {
  fmt::print("{}: {} rank{} ({}), {} worker{} each\n", program, world.size(),
             world.size() == 1 ? "" : "s", describe(world.launch()), world.worker_count(),
             world.worker_count() == 1 ? "" : "s");
  fmt::print("  {}\n", problem);
}

void print_line(std::string_view label, std::string_view text) {
  fmt::print("  {:<20} {}\n", label, text);
}

void print_rate(std::string_view label, const std::vector<double>& seconds, double gflop) {
  const double middle = median(seconds);
  std::string text = fmt::format("{:.4g} s  {:.2f} GFLOP/s", middle, gflop / middle);
  if (seconds.size() > 1) {
    const auto [least, most] = std::ranges::minmax(seconds);
    text += fmt::format("  (median of {}, {:.4g} to {:.4g} s)", seconds.size(), least, most);
  }
  print_line(label, text);
}

void print_costs(const std::vector<RankCost>& costs, int workers) {
  fmt::print("  {:>6} {:>10} {:>8} {:>10} {:>10} {:>12}\n", "rank", "seconds", "busy", "tasks",
             "messages", "MiB sent");
  constexpr std::size_t kLinesMax = 32;
  for (std::size_t rank = 0; rank < std::min(costs.size(), kLinesMax); ++rank) {
    print_cost(fmt::format("{}", rank), costs[rank], workers);
  }
  if (costs.size() > kLinesMax) fmt::print("  ... and {} more\n", costs.size() - kLinesMax);
  if (costs.size() > 1) {
    print_cost("all", total(costs), workers * static_cast<int>(costs.size()));
  }
}

nlohmann::json json_of_run(std::string_view program, const shoal::World& world,
                           const TimedRuns& runs) {
  nlohmann::json per_rank = nlohmann::json::array();
  for (const RankCost& cost : runs.costs) {
    per_rank.push_back({{"seconds", cost.seconds},
                        {"busy_seconds", cost.busy_seconds},
                        {"tasks", cost.tasks},
                        {"messages", cost.messages},
                        {"bytes", cost.bytes}});
  }
  return {{"program", program},      {"launch", describe(world.launch())},
          {"ranks", world.size()},   {"workers", world.worker_count()},
          {"seconds", runs.seconds}, {"gflops", runs.gflop / median(runs.seconds)},
          {"per_rank", per_rank}};
}

}  // namespace apps
