#include "edat_api/program.hpp"

#include "env/host.hpp"
#include "env/topology.hpp"

#include <shoal/runtime/run.hpp>
#include <shoal/sched/park.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace shoal::edat_api {

// --- events

Shown::Shown(const EventList& events) {
  copies_.reserve(events.size());
  shown_.reserve(events.size());
  for (const Event& event : events) {
    const shoal_event view = c_api::to_c(event);
    Copy copy{event.name(), nullptr};
    void* data = const_cast<void*>(view.data);  // an address is the program's own
    const RawPayload* const raw = event.raw();
    const bool is_copied = view.type != SHOAL_ADDRESS && view.type < c_api::Contexts::kFirstType;
    if (is_copied && raw != nullptr && !raw->bytes.empty()) {
      copy.data = std::make_unique_for_overwrite<std::byte[]>(raw->bytes.size());
      std::memcpy(copy.data.get(), raw->bytes.data(), raw->bytes.size());
      data = copy.data.get();
    }
    copies_.push_back(std::move(copy));
    shown_.push_back(
        {data, {view.type, static_cast<int>(view.count), view.source, copies_.back().name.data()}});
  }
}

namespace {

struct OfTask final : sched::TaskLocal {
  Belongings belongings;
};

}  // namespace

Belongings& belongings() {
  // Of threads of the program. edat.h has no handle that it could hang on.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
  static thread_local Belongings t_belongings;
  sched::Task* const task = sched::current_task();
  if (task == nullptr) return t_belongings;
  if (auto* const found = task->find_local<OfTask>()) return found->belongings;
  task->add_local(std::make_unique<OfTask>());
  return task->find_local<OfTask>()->belongings;
}

// --- the world

Program::Program(Configuration configuration)
    : configuration_(std::move(configuration)),
      env_(env::make_thread_env()),
      starter_(env_->make_parker()) {}

Program::~Program() = default;

bool Program::start() {
  thread_.emplace([this] { run(); });
  starter_->park(0);
  if (events_ != nullptr) return true;
  thread_.reset();
  return false;
}

int Program::finish() {
  hold_.reset();
  thread_.reset();
  return exit_code_;
}

void Program::run() {
  std::vector<const char*> arguments{program_invocation_name};
  for (const std::string& argument : configuration_.arguments) {
    arguments.push_back(argument.c_str());
  }
  exit_code_ = shoal::run(static_cast<int>(arguments.size()), arguments.data(),
                          [this](World& world) { run_main(world); });
  if (exit_code_ == 0 && events_ == nullptr) exit_code_ = 1;
  starter_->unpark();  // if it did not come to run_main()
}

void Program::run_main(World& world) {
  if (world.launch() == Launch::simulated) {
    throw ConfigError(
        "--sim: a program with edat.h has a main() of its own, which cannot run in virtual time");
  }
  if (world.launch() == Launch::embedded && world.size() > 1) {
    throw ConfigError(fmt::format(
        "--ranks {}: a process with edat.h is one rank: start several with mpirun", world.size()));
  }
  Events events(world, "edat");
  if (configuration_.report_workers) report_workers(world);
  world_ = &world;
  events_ = &events;
  hold_.emplace(world.hold());
  starter_->unpark();
  world.wait();  // not before finish() ends the Hold
}

// One after the other would need each to wait for its turn: the order is any.
void Program::report_workers(World& world) const {
  for (int worker = 0; worker < world.worker_count(); ++worker) {
    TaskOptions options;
    options.worker = WorkerId(worker);
    options.bound = true;
    options.name = "report of a worker";
    world.spawn(
        [rank = world.rank().value(), worker] {
          const env::Topology topology;
          const env::PuSet place = topology.current_thread_binding();
          env::write_to_standard_error(
              fmt::format("edat: rank {}: worker {} is mapped to {}\n", rank, worker,
                          place.empty() ? "any core" : topology.describe(place)));
        },
        options);
  }
}

}  // namespace shoal::edat_api
