#include "flow/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "team/messenger.hpp"

namespace shoal::flow {

Core::Core(TeamCore& team, std::string name, const FlowOptions& options,
           const std::source_location& place)
    : team_(team),
      name_(std::move(name)),
      place_(place),
      handles_(name_, team, instances_, options.pruned),
      transfers_(*this, options) {
  std::shared_ptr<FlowScheduler> order = options.scheduler;
  const auto* const defaults = team.messenger().services().find<Defaults>();
  if (order == nullptr && defaults != nullptr) {
    order = make_flow_scheduler(defaults->scheduler, defaults->models);
  }
  if (order != nullptr) dispatcher_ = std::make_unique<Dispatcher>(scheduler(), std::move(order));
  if (scheduler().options().recorder != nullptr) {
    dependencies_ = std::make_unique<Dependencies>();
    instances_.set_dependencies(*dependencies_);
  }
  if (defaults != nullptr && !defaults->dag.empty()) {
    skips_tasks_ = true;
    const int number = ++defaults->dag_count;
    const std::string path =
        number == 1 ? defaults->dag : fmt::format("{}.{}", defaults->dag, number);
    if (rank() == 0) dag_ = std::make_unique<Dag>(path, name_);
  }
  if (team.size() > 1 && !options.pruned) comparison_ = std::make_unique<Comparison>(*this);
  if (team.size() > 1 && options.pruned) pruned_end_ = std::make_unique<PrunedEnd>(*this);
  static_cast<void>(add_sequence(name_, options));
  reports_ = std::make_unique<Sequence>(*this, name_ + ", reports", options, nullptr);
  team_.add(*this);
}

Core::~Core() {
  team_.remove(*this);
  drop_waiting_tasks();
  handles_.remove_all();
  instances_.for_each([](Instance& instance) { instance.end(); });
}

// Drops the tasks that a failed team has left: each is in one queue or more.
void Core::drop_waiting_tasks() {
  std::vector<FlowTask*> tasks;
  instances_.for_each([&tasks](Instance& instance) {
    while (Access* const access = instance.take_waiting()) tasks.push_back(access->task);
  });
  transfers_.add_waiting_tasks(tasks);
  std::ranges::sort(tasks);
  tasks.erase(std::unique(tasks.begin(), tasks.end()), tasks.end());
  for (FlowTask* const task : tasks) task->drop();
}

Sequence& Core::add_sequence(std::string name, const FlowOptions& options) {
  ProgramLog* const log = comparison_ != nullptr ? &comparison_->add_log(name) : nullptr;
  return *sequences_.emplace_back(std::make_unique<Sequence>(*this, std::move(name), options, log));
}

void Core::close_handlers() {
  std::vector<std::uint32_t> handlers;
  transfers_.add_handlers(handlers);
  if (comparison_ != nullptr) comparison_->add_handlers(handlers);
  if (pruned_end_ != nullptr) pruned_end_->add_handlers(handlers);
  team_.close_handlers(handlers);
}

// An exception has passed its end, which waits else.
bool Core::is_in_use() const {
  return std::ranges::any_of(sequences_,
                             [](const auto& sequence) { return sequence->under_way() > 0; });
}

bool Core::run_ended() {
  run_has_ended_ = true;
  for (const auto& sequence : sequences_) sequence->end_run();
  return true;
}

// --- reports

std::uint64_t Core::unsatisfied_count() const {
  std::uint64_t count = transfers_.unmatched_count();
  instances_.for_each([&count](const Instance& instance) { count += instance.state().waiting; });
  return count;
}

std::vector<std::string> Core::describe_unsatisfied() const {
  constexpr std::size_t kLinesMax = 16;
  std::vector<std::string> lines;
  std::uint64_t more = 0;
  const auto add = [&](std::string line) {
    if (lines.size() < kLinesMax) {
      lines.push_back(std::move(line));
    } else {
      ++more;
    }
  };
  instances_.for_each([&](const Instance& instance) {
    const Instance::State state = instance.state(true);
    if (state.waiting == 0) return;
    const auto tasks = state.granted - static_cast<std::uint32_t>(state.acquired);
    std::string holders = state.acquired > 0 ? "acquire() on this rank" : "";
    if (tasks > 0) holders += fmt::format("{}{} tasks", holders.empty() ? "" : " and ", tasks);
    add(fmt::format(
        "flow '{}': {} accesses wait for '{}', held in mode {} by {}; the first to wait is {}",
        name_, state.waiting, instance.handle().name(), name_of(state.mode), holders, state.first));
  });
  transfers_.describe_unmatched(name_, add);
  if (more > 0) lines.push_back(fmt::format("flow '{}': and {} more", name_, more));
  return lines;
}

}  // namespace shoal::flow
