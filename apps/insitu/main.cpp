// In-situ data analytics: compute ranks send fields at irregular times to analytics ranks, which
// analyse them, reduce them among each other and write the results.

#include <shoal/shoal.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/options.hpp"
#include "common/output_file.hpp"
#include "common/report.hpp"
#include "insitu/options.hpp"
#include "insitu/pipeline.hpp"
#include "insitu/summary.hpp"

namespace insitu {
namespace {

/// Expected diagnostics of an item, computed anew.
Diagnostics expected(const Options& options, const Roles& roles, const Item& item) {
  Diagnostics all;
  for (int rank = 0; rank < roles.compute_count(); ++rank) {
    all = merge(all, analyse(make_field(options.seed, rank, item, options.size)));
  }
  return all;
}

std::int64_t count_wrong(const Options& options, const Roles& roles, const Pipeline& pipeline) {
  std::int64_t wrong = 0;
  for (const Result& result : pipeline.results()) {
    wrong += result.diagnostics == expected(options, roles, result.item) ? 0 : 1;
  }
  return wrong;
}

void print(const shoal::World& world, const Options& options, const Summary& summary) {
  const Roles roles(world.size());
  apps::print_title("insitu", world,
                    fmt::format("{} timesteps of {} fields of {} values, {} compute and {} "
                                "analytics ranks",
                                options.timesteps, options.fields, options.size,
                                roles.compute_count(), roles.analytics_count()));
  apps::print_line("items", fmt::format("{} in {:.4g} s: {:.4g} per second", summary.items,
                                        summary.seconds, summary.items_per_second()));
  apps::print_line("latency",
                   fmt::format("{:.4g} us from firing to result, mean", summary.latency_us));
  if (options.verify || !summary.good()) apps::print_line("results", summary.verdict());
}

int report(const shoal::World& world, const Options& options, const Summary& summary) {
  bool good = summary.good();
  if (world.rank() != 0) return good ? 0 : 1;
  if (!apps::is_standard_output(options.json) && !apps::is_standard_output(options.out)) {
    print(world, options, summary);
  }
  const nlohmann::json json{{"program", "insitu"},
                            {"ranks", world.size()},
                            {"workers", world.worker_count()},
                            {"items", summary.items},
                            {"results", summary.results},
                            {"seconds", summary.seconds},
                            {"items_per_second", summary.items_per_second()},
                            {"latency_us", summary.latency_us},
                            {"good", good}};
  good = apps::write_json(options.json, json) && good;
  return good ? 0 : 1;
}

int run(shoal::World& world, const Options& options) {
  Pipeline pipeline(world, options);
  world.barrier();
  const std::uint64_t begin_ns = world.now_ns();
  pipeline.run();
  Summary summary;
  summary.seconds = static_cast<double>(world.now_ns() - begin_ns) * 1e-9;
  const auto sum = [&world](auto value) { return world.allreduce(value, std::plus<>()); };
  summary.items = sum(pipeline.part_count());
  summary.results = sum(std::ssize(pipeline.results()));
  summary.expected_results = std::int64_t{options.timesteps} * options.fields;
  summary.latency_us = static_cast<double>(sum(pipeline.latency_sum_ns())) * 1e-3 /
                       static_cast<double>(summary.items);
  if (options.verify) summary.wrong = sum(count_wrong(options, Roles(world.size()), pipeline));
  return report(world, options, summary);
}

}  // namespace
}  // namespace insitu

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    cli::App app("In-situ analytics: fields come at irregular times, and are reduced among ranks.",
                 "insitu");
    insitu::Options options;
    insitu::add_options(app, options);
    return apps::run_app(app, world, [&] { return insitu::run(world, options); });
  });
}
