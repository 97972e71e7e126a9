#include "insitu/pipeline.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <random>
#include <tuple>

#include "common/input_error.hpp"
#include "common/random_matrix.hpp"

namespace insitu {
namespace {

std::string part_name(const Item& item) {
  return fmt::format("part {}.{}", item.timestep, item.field);
}

}  // namespace

Pipeline::Pipeline(shoal::World& world, const Options& options)
    : world_(world), options_(options), roles_(world.size()), events_(world, "insitu") {
  if (!options.out.empty() && world.rank() == roles_.analytics_rank(0)) {
    file_ = apps::OutputFile(options.out);
    file_.write("timestep,field,min,max,mean,mean square\n");
  }
  check_file();
}

// All ranks must learn of the error.
void Pipeline::check_file() {
  if (options_.out.empty()) return;
  const bool good = world_.allreduce(file_.is_good(), std::logical_and<>());
  if (!good) throw apps::InputError(options_.out + ": cannot be written");
}

shoal::Rank Pipeline::root_of(const Item& item) const {
  const auto number = static_cast<std::int64_t>(item.timestep) * options_.fields + item.field;
  return roles_.analytics_rank(static_cast<int>(number % roles_.analytics_count()));
}

void Pipeline::run() {
  if (roles_.analyses(world_.rank())) {
    events_.submit({{shoal::any, "data"}}, [this](shoal::EventList& events) { on_data(events[0]); },
                   {.name = "analyse", .persistent = true});
    for (int timestep = 0; timestep < options_.timesteps; ++timestep) {
      for (int field = 0; field < options_.fields; ++field) {
        const Item item{timestep, field};
        if (root_of(item) == world_.rank()) expect_parts(item);
      }
    }
  }
  if (world_.rank() == roles_.analytics_rank(0)) {
    events_.submit({{shoal::any, "result"}},
                   [this](shoal::EventList& events) { on_result(events[0]); },
                   {.name = "write", .persistent = true});
  }
  if (roles_.computes(world_.rank())) {
    events_.submit({}, [this] { compute(); }, {.name = "model"});
  }
  world_.wait();
  check_file();
}

// The model: its items come at unpredictable times.
void Pipeline::compute() {
  const int rank = world_.rank().value();
  std::mt19937_64 random(apps::mix_bits(options_.seed + static_cast<std::uint64_t>(rank)));
  const shoal::Rank target = roles_.analytics_rank(rank);
  for (const Item& item : item_order(options_.seed, rank, options_.timesteps, options_.fields)) {
    if (options_.pause_us > 0) {
      const auto pause = random() % static_cast<std::uint64_t>(options_.pause_us + 1);
      shoal::sleep_for(std::chrono::microseconds(pause));
    }
    events_.fire(
        target, "data",
        std::tuple(item, world_.now_ns(), make_field(options_.seed, rank, item, options_.size)));
  }
}

void Pipeline::on_data(const shoal::Event& data) {
  const auto [item, fired_ns, values] =
      data.get<std::tuple<Item, std::uint64_t, std::vector<double>>>();
  events_.fire(root_of(item), part_name(item), Part{item, fired_ns, analyse(values)});
}

void Pipeline::expect_parts(const Item& item) {
  std::vector<shoal::EventDependency> parts;
  for (int index = 0; index < roles_.compute_count(); ++index) {
    parts.push_back({roles_.analytics_rank(index), part_name(item)});
  }
  events_.submit(parts, [this](shoal::EventList& events) { on_parts(events); },
                 {.name = part_name(item)});
}

void Pipeline::on_parts(const shoal::EventList& parts) {
  Result result;
  std::uint64_t latency_ns = 0;
  for (const shoal::Event& event : parts) {
    const auto part = event.get<Part>();
    result.item = part.item;
    result.diagnostics = merge(result.diagnostics, part.diagnostics);
    latency_ns += world_.now_ns() - part.fired_ns;
  }
  events_.fire(roles_.analytics_rank(0), "result", result);
  events_.lock("results");
  results_.push_back(result);
  latency_sum_ns_ += latency_ns;
  part_count_ += static_cast<std::int64_t>(parts.size());
}

void Pipeline::on_result(const shoal::Event& event) {
  const auto [item, diagnostics] = event.get<Result>();
  const auto count = static_cast<double>(diagnostics.count);
  events_.lock("file");
  file_.write(fmt::format("{},{},{:.17g},{:.17g},{:.17g},{:.17g}\n", item.timestep, item.field,
                          diagnostics.min, diagnostics.max, diagnostics.sum / count,
                          diagnostics.square_sum / count));
}

}  // namespace insitu
