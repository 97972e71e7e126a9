#include "edat_api/program.hpp"

#include "base/per_thread.hpp"
#include "c_api/payload.hpp"
#include "env/host.hpp"
#include "env/topology.hpp"
#include "team/messenger.hpp"

#include <shoal/detail/sched/park.hpp>
#include <shoal/run.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace shoal::edat_api {

// --- events

bool travels_as_address(int type, AddressRule addresses) {
  return type >= c_api::Contexts::kFirstType ||
         (type == EDAT_ADDRESS && addresses == AddressRule::paper);
}

Shown::Shown(const EventList& events, AddressRule addresses) {
  copies_.reserve(events.size());
  shown_.reserve(events.size());
  for (const Event& event : events) {
    const RawPayload& raw = *event.raw();  // edat.h fires nothing else
    Copy copy{event.name(), nullptr};
    void* data = nullptr;
    if (travels_as_address(raw.type, addresses)) {
      std::memcpy(&data, raw.bytes.data(), std::min(raw.bytes.size(), sizeof data));
    } else if (!raw.bytes.empty()) {
      copy.data = std::make_unique_for_overwrite<std::byte[]>(raw.bytes.size());
      std::memcpy(copy.data.get(), raw.bytes.data(), raw.bytes.size());
      data = copy.data.get();
    }
    copies_.push_back(std::move(copy));
    shown_.push_back({data,
                      {raw.type, static_cast<int>(raw.count), event.source().value(),
                       copies_.back().name.data()}});
  }
}

namespace {

struct OfTask final : sched::TaskLocal {
  Belongings belongings;
};

}  // namespace

Belongings& belongings() {
  sched::Task* const task = sched::current_task();
  if (task == nullptr) return of_this_thread<Belongings>();  // edat.h has no handle for it
  if (auto* const found = task->find_local<OfTask>()) return found->belongings;
  task->add_local(std::make_unique<OfTask>());
  return task->find_local<OfTask>()->belongings;
}

// --- the world

Program::Program(Configuration configuration, std::shared_ptr<const void> communicator)
    : configuration_(std::move(configuration)),
      communicator_(std::move(communicator)),
      env_(env::make_thread_env()),
      starter_(env_->make_parker()),
      task_threads_(*env_) {}

Program::~Program() = default;

bool Program::start() {
  thread_.emplace("shoal edat", "the world of edatInit", [this] { run(); });
  starter_->park(0);
  if (has_ended_) {
    thread_.reset();
    return false;
  }
  take_worker();
  return true;
}

bool Program::pause() {
  leave_worker_to_tasks();
  hold_.reset();
  starter_->park(0);
  if (has_ended_) return false;
  take_worker();
  return true;
}

int Program::finish() {
  leave_worker_to_tasks();
  is_finishing_.store(true, std::memory_order_release);
  hold_.reset();
  thread_.reset();
  return exit_code_;
}

// Not the worker of the world's own main function; with a single worker there is none to take.
void Program::take_worker() {
  if (!configuration_.main_is_worker || world_->worker_count() < 2) return;
  taken_ = env_->make_parker();
  TaskOptions options;
  options.worker = WorkerId(world_->worker_count() - 1);
  options.bound = true;
  options.name = "main()";
  world_->spawn([parker = taken_] { parker->park(0); }, options);
}

void Program::leave_worker_to_tasks() {
  if (taken_ != nullptr) taken_->unpark();
  taken_.reset();
}

void Program::lock_communication(const Belongings& owner) {
  if (has_locked_communication(owner)) throw CheckError("edatLockComms was called before");
  communication_.lock();
  communication_owner_.store(&owner, std::memory_order_relaxed);
  if (auto* const transport = world_->core().messenger().fabric().transport()) {
    transport->lock_calls();
  }
}

void Program::unlock_communication(const Belongings& owner) {
  if (!has_locked_communication(owner)) throw CheckError("call edatLockComms first");
  if (auto* const transport = world_->core().messenger().fabric().transport()) {
    transport->unlock_calls();
  }
  communication_owner_.store(nullptr, std::memory_order_relaxed);
  communication_.unlock();
}

void Program::run() {
  std::vector<const char*> arguments{program_invocation_name};
  for (const std::string& argument : configuration_.arguments) {
    arguments.push_back(argument.c_str());
  }
  exit_code_ = runtime::run_world(static_cast<int>(arguments.size()), arguments.data(),
                                  runtime::as_main([this](World& world) { run_main(world); }),
                                  {communicator_.get(), ""});
  if (exit_code_ == 0 && !is_finishing_.load(std::memory_order_acquire)) exit_code_ = 1;
  has_ended_ = true;
  starter_->unpark();  // in start() or pause()
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
  Events events(world, "edat", MatchingRule::library);
  if (configuration_.report_workers) report_workers(world);
  world_ = &world;
  events_ = &events;
  while (!is_finishing_.load(std::memory_order_acquire)) {
    hold_.emplace(world.hold());
    starter_->unpark();
    world.wait();  // not before pause() or finish() ends the Hold
  }
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
          const env::Topology topology = env::Topology::of_process();
          const env::PuSet place = topology.current_thread_binding();
          env::write_to_standard_error(
              fmt::format("edat: rank {}: worker {} is mapped to {}\n", rank, worker,
                          place.empty() ? "any core" : topology.describe(place)));
        },
        options);
  }
}

}  // namespace shoal::edat_api
