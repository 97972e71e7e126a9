#include "runtime/rank_runtime.hpp"

#include "base/thrown.hpp"
#include "flow/performance_models.hpp"
#include "memory/reach.hpp"
#include "runtime/main_throws.hpp"
#include "sched/live.hpp"
#include "team/messenger.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <typeinfo>
#include <utility>

namespace shoal::runtime {

/// The SPMD main function of a rank: a task like any other, but uncounted, and bound to worker 0.
class RankRuntime::MainTask final : public sched::Task, public BeforeUnwinding {
 public:
  MainTask(RankRuntime& rank, MainFunction main_function, Function<void()> ended)
      : rank_(rank), main_function_(std::move(main_function)), ended_(std::move(ended)) {
    worker = 0;
    bound = true;
  }
  void run() override {
    rank_.run_main(main_function_);
    const sync::Quiet quiet;
    ended_();
  }
  [[nodiscard]] std::string name() const override { return kName; }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return kName; }
  // Handlers may do what it waits for.
  void before_parking() override { rank_.core_.open_all_handlers(); }
  void before_unwinding(const std::type_info& type, void* object) noexcept override {
    const auto text = [&type, object] { return describe_thrown(type, object); };
    if (type == typeid(std::bad_alloc)) rank_.core_.end_without_memory(text);
    rank_.core_.end_before_unwinding(text);
  }

 private:
  static constexpr const char* kName = "the main function";
  RankRuntime& rank_;
  MainFunction main_function_;
  Function<void()> ended_;
};

namespace {

/// Whether the error is one that wait() throws on all ranks alike.
bool is_outcome(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const TaskError&) {
    return true;
  } catch (const StuckError&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

flow::Defaults flow_defaults(const Config& config, bool read_only) {
  flow::Defaults defaults{
      .scheduler = config.flow_scheduler, .models = nullptr, .dag = config.flow_dag};
  if (!config.flow_models.empty()) {
    defaults.models = std::make_shared<PerformanceModels>(
        PerformanceModels::path_in(config.flow_models), read_only);
  }
  return defaults;
}

memory::Defaults memory_defaults(const Config& config) {
  return {.heap_bytes = config.global_heap_bytes,
          .local_heap_bytes = config.local_heap_bytes,
          .rma_bytes = config.global_rma_bytes,
          .here = std::make_shared<memory::CoresHere>()};
}

RankRuntime::RankRuntime(env::Env& env, net::Fabric& fabric, const RankOptions& options,
                         team::FatalHandler fatal)
    : scheduler_(env, options.scheduler),
      messenger_(fabric, scheduler_, options.messenger, std::move(fatal)),
      core_(messenger_),
      collectives_(core_),
      world_(std::make_unique<World>(
          core_, collectives_,
          World::Parts{
              options.args, options.launch, options.dry,
              options.machine != nullptr ? options.machine : std::make_shared<const Machine>()})),
      flow_(options.flow),
      memory_(options.memory),
      multicast_costs_(options.multicast_costs),
      serves_(options.serves) {
  messenger_.services().provide(*world_);
  messenger_.services().provide(flow_);
  messenger_.services().provide(memory_);
  messenger_.services().provide(multicast_costs_);
  core_.services().provide<Team>(*world_);
  core_.set_checks_graphs(options.check_graphs);
}

namespace {

/// Keeps the worlds of some runs that have ended, so that a pointer to one finds a World that
/// refuses calls. Not all: programs may run very many.
void keep_ended(std::unique_ptr<World> world) {
  constexpr std::size_t kWorldsMax = 256;
  struct Ended {
    sync::Mutex mutex;
    std::deque<std::unique_ptr<World>> worlds SHOAL_GUARDED_BY(mutex);
  };
  static auto* const ended = new Ended;  // a pointer may be used as long as the process lives
  const sync::Lock lock(ended->mutex);
  ended->worlds.push_back(std::move(world));
  if (ended->worlds.size() > kWorldsMax) ended->worlds.pop_front();
}

}  // namespace

// Services may use the team.
RankRuntime::~RankRuntime() {
  sched::end_live(scheduler_);  // unless end_run() has: threads that wait use the core
  messenger_.services().clear();
  world_->end_run();
  keep_ended(std::move(world_));
}

bool RankRuntime::end_run() {
  world_->end_run();
  sched::end_live(scheduler_);
  return core_.end_run();
}

std::exception_ptr RankRuntime::thrown() const {
  return thrown_ != nullptr && !is_outcome(thrown_) ? thrown_ : nullptr;
}

bool RankRuntime::has_own_error() const { return error_ != nullptr && !is_outcome(error_); }

void RankRuntime::start(const MainFunction& main_function, Function<void()> ended) {
  scheduler_.submit(std::make_unique<MainTask>(*this, main_function, std::move(ended)));
}

// Out of line: see LooksAtThrown.
[[gnu::noinline]] int RankRuntime::call(const MainFunction& main_function) {
  const int exit_code = main_function(*world_);
  asm volatile("");  // no tail call
  return exit_code;
}

// Even if the main function fails, the rank takes part in the waits of the others until all main
// functions have ended: no rank hangs because one of them failed.
void RankRuntime::run_main(const MainFunction& main_function) {
  try {
    exit_code_ = call(main_function);
  } catch (const LooksAtThrown&) {  // never: it has told the team
  } catch (...) {
    error_ = thrown_ = sched::caught_exception();
  }
  try {
    core_.wait_for_end();
  } catch (const TaskError& error) {
    // The error of this main function with the text that the other ranks get, so that all are
    // equal.
    const bool own = error_ != nullptr && error.rank() == rank() && !is_outcome(error_) &&
                     error.text() == describe(error_);
    if (error_ == nullptr || own) error_ = std::current_exception();
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
}

void drop_queued(const std::vector<std::unique_ptr<RankRuntime>>& ranks) {
  for (const auto& rank : ranks) rank->scheduler().drop_queued();
}

}  // namespace shoal::runtime
