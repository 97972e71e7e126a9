#include <shoal/run.hpp>

#include <shoal/detail/env/guards.hpp>
#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/version.hpp>

#include "env/exit_deadline.hpp"
#include "env/host.hpp"
#include "env/raw_clock.hpp"
#include "net/mpi_transport.hpp"
#include "runtime/clock_sync.hpp"
#include "runtime/config.hpp"
#include "runtime/end_report.hpp"
#include "runtime/kept_runs.hpp"
#include "runtime/launcher.hpp"
#include "runtime/memory_plan.hpp"
#include "runtime/placement.hpp"
#include "runtime/process_info.hpp"
#include "runtime/rank_runtime.hpp"
#include "runtime/run_info.hpp"
#include "runtime/simulated_run.hpp"
#include "runtime/stall_watch.hpp"
#include "runtime/status_page.hpp"
#include "runtime/tracing.hpp"
#include "runtime/transport_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace shoal::runtime {

namespace {

/// One process of a world: its ranks and their common parts.
class Process {
 public:
  Process(const Config& config, const ProgramMpi& program);

  int run(const MainFunction& main_function);
  [[nodiscard]] bool is_launched() const { return transport_ != nullptr; }
  /// Called after run(). Returns whether objects of the program refer to this.
  [[nodiscard]] bool end_run();
  /// Prints the text of --info, instead of run(). Collective.
  void print_info();

 private:
  void drive(const std::vector<env::Steppable*>& all);
  void begin_trace();
  void make_transport(const ProgramMpi& program);
  void agree();
  void make_ranks();
  [[nodiscard]] sched::SchedulerOptions scheduler_options(Rank rank) const;
  [[nodiscard]] bool is_oversubscribed() const {
    return workers_ * ranks_sharing_ > topology_.allowed_pus();
  }
  [[nodiscard]] messaging::MessengerOptions messenger_options(Rank rank) const;
  void leave_words_to_launcher() const;
  [[noreturn]] void end_at_once(const std::string& text);
  [[noreturn]] void give_up(const std::string& text);
  void finish_transport();
  void stop_after_last();

  const Config& config_;
  const LaunchInfo launch_ = detect_launcher(process_environment());
  std::unique_ptr<env::Env> env_ = env::make_thread_env();
  env::Topology topology_;
  const MemoryPlan memory_ = plan_memory(config_);
  const BufferPlace buffers_ = place_buffers(memory_, topology_.numa_nodes_from({}));
  std::shared_ptr<sched::MemoryBoundLimit> memory_bound_;
  std::unique_ptr<net::MpiTransport> transport_;
  net::Layout layout_;
  int workers_ = 1;        // per rank
  int ranks_sharing_ = 1;  // the PUs of this process, on its node
  std::vector<ProcessInfo> all_;
  std::vector<env::PuSet> places_;  // of the workers of this process, in rank order
  std::shared_ptr<const Machine> machine_;
  std::unique_ptr<net::Fabric> fabric_;
  const std::shared_ptr<env::GuardCount> mapped_guards_ = std::make_shared<env::GuardCount>(0);
  std::unique_ptr<Tracing> tracing_;  // outlives the workers
  std::vector<std::unique_ptr<RankRuntime>> ranks_;
  std::atomic<int> ranks_running_{0};
  EndReport end_;
};

Process::Process(const Config& config, const ProgramMpi& program) : config_(config) {
  make_transport(program);
  try {
    agree();
  } catch (const ConfigError&) {
    finish_transport();  // all processes have the error, or none
    throw;
  }
}

// Throws the same errors in all processes.
void Process::agree() {
  if (transport_ != nullptr) {
    layout_ = transport_->layout();
  } else {
    layout_.world_size = std::max(config_.ranks, 1);
    layout_.ranks_per_process = layout_.world_size;
  }
  ProcessInfo mine;
  mine.host = env::host_name();
  mine.pid = env::process_id();
  mine.salt = env_->random_seed();
  mine.allowed_pus = topology_.allowed().indices();
  mine.node_pus = topology_.machine_pus();
  mine.ranks_asked = config_.ranks;
  mine.ranks = layout_.ranks_per_process;
  // Workers are shared out among the ranks that may use the same PUs.
  all_ = exchange_info(transport_.get(), mine);
  check_ranks(all_, layout_);
  ranks_sharing_ = ranks_sharing(all_, mine);
  workers_ = worker_count(config_, topology_.allowed_pus(), ranks_sharing_);
  mine.workers = workers_ * layout_.ranks_per_process;
  all_ = exchange_info(transport_.get(), mine);
  places_ = place_workers(topology_, config_.pin, all_, layout_);
  for (const env::PuSet& place : places_) mine.places.push_back(place.indices());
  if (config_.pin != Pin::none) mine.unbindable = topology_.count_unbindable(places_);
  if (transport_ != nullptr) mine.near_count = transport_->near_count();
  mine.sites = locate_ranks(topology_, places_, mine.ranks);
  all_ = exchange_info(transport_.get(), mine);
  machine_ = make_machine(all_);
  if (layout_.process == 0) std::ranges::for_each(config_.warnings, say);
  for (const std::string& text : placement_advice(all_, layout_, launch_, config_.workers > 0)) {
    say(text);
  }
}

void Process::make_transport(const ProgramMpi& program) {
  if (program.communicator == nullptr && !launch_.launched) return;
  net::MpiOptions options = transport_options(config_, topology_.allowed_pus());
  options.choice = {config_.mpi_plugin, config_.mpi,    launch_.launcher,
                    launch_.mpi,        program.header, program.communicator != nullptr};
  try {
    net::load_mpi_library(options.choice);
  } catch (const ConfigError&) {
    const bool is_alone = launch_.size == 1 && launch_.size_is_known;
    if (program.communicator != nullptr || !is_alone) throw;
    return;
  }
  options.communicator = program.communicator;
  options.env = env_.get();
  transport_ = net::make_mpi_transport(options);
  if (program.communicator != nullptr) return;
  try {
    check_world_size(launch_, transport_->layout().process_count(), net::mpi_library());
  } catch (const ConfigError&) {
    finish_transport();  // each of them is alone
    throw;
  }
}

sched::SchedulerOptions Process::scheduler_options(Rank rank) const {
  sched::SchedulerOptions options;
  options.rank = rank;
  options.worker_count = workers_;
  options.stack_bytes = config_.stack_bytes;
  options.mapped_guards = mapped_guards_;
  options.oversubscribed = is_oversubscribed();
  if (tracing_ != nullptr) options.recorder = &tracing_->recorder();
  options.memory_bound = memory_bound_;
  const std::size_t first =
      static_cast<std::size_t>(rank - layout_.first_local()) * static_cast<std::size_t>(workers_);
  options.on_worker_start = [this, first](WorkerId worker) {
    // If it cannot be bound, a warning was written before.
    static_cast<void>(
        topology_.bind_current_thread(places_[first + static_cast<std::size_t>(worker.value())]));
  };
  return options;
}

messaging::MessengerOptions Process::messenger_options(Rank rank) const {
  messaging::MessengerOptions options;
  options.rank = rank;
  options.may_linger = !is_oversubscribed();
  options.check_payloads = config_.check_payloads;
  options.place_buffer = buffer_binder(topology_, buffers_);
  if (transport_ == nullptr || transport_->engine() != nullptr) return options;
  const bool main_only = transport_->policy() == net::ProgressPolicy::main;
  options.polls_transport = !main_only || rank == layout_.first_local();
  options.only_poller = main_only ? 0 : -1;  // worker 0 runs on the thread that called run()
  return options;
}

void Process::make_ranks() {
  memory_bound_ = memory_.make_limit(workers_ * layout_.ranks_per_process);
  fabric_ = std::make_unique<net::Fabric>(
      layout_, net::LinkOptions{config_.packet_bytes, config_.window_bytes}, transport_.get());
  const flow::Defaults flow = flow_defaults(config_, false);
  memory::Defaults memory = memory_defaults(config_);
  if (transport_ != nullptr) memory.windows = transport_->remote_memory();
  memory.world = all_.front().salt;
  messaging::TreeCosts costs = config_.multicast_costs;
  costs.all_share_cores = is_oversubscribed() && ranks_sharing_ == layout_.world_size;
  for (int i = 0; i < layout_.ranks_per_process; ++i) {
    const Rank rank(layout_.first_local() + i);
    const RankOptions options{scheduler_options(rank),
                              messenger_options(rank),
                              config_.args,
                              transport_ != nullptr ? Launch::mpi : Launch::embedded,
                              config_.checks_graphs(),
                              machine_,
                              flow,
                              memory,
                              costs};
    ranks_.push_back(std::make_unique<RankRuntime>(
        *env_, *fabric_, options, [this](const std::string& text) { end_at_once(text); }));
  }
  if (transport_ == nullptr) return;
  // A message waits to be sent and no thread polls: wakes a sleeping worker that may poll. An
  // engine with its own thread calls this only when it has failed.
  transport_->set_poll_waker([this] {
    if (transport_->engine() != nullptr) {
      try {
        transport_->poll(false, nullptr);
      } catch (const std::exception& error) {
        end_at_once(error.what());
      }
      return;
    }
    if (transport_->policy() == net::ProgressPolicy::main) {
      ranks_.front()->scheduler().idle_workers().wake(WorkerId(0));
      return;
    }
    for (const auto& rank : ranks_) rank->scheduler().wake_one();
  });
}

void Process::begin_trace() {
  tracing_ = make_tracing(config_,
                          {layout_, workers_, topology_.allowed_pus(), env::raw_clock_name(),
                           topology_.machine_pus(), topology_.allowed().to_string()},
                          transport_.get(), nullptr);
}

int Process::run(const MainFunction& main_function) {
  begin_trace();
  const auto before_close = [this] {
    if (tracing_ != nullptr) tracing_->finish();
    report_caught(end_, *transport_);
  };
  if (transport_ != nullptr) transport_->set_before_close(before_close);
  make_ranks();
  ranks_running_ = static_cast<int>(ranks_.size());
  std::vector<env::Steppable*> all;
  for (const auto& rank : ranks_) {
    rank->start(main_function, [this] { stop_after_last(); });
    for (env::Steppable* worker : rank->scheduler().steppables()) all.push_back(worker);
  }
  if (transport_ != nullptr && transport_->engine() != nullptr) {
    all.push_back(transport_->engine());
  }
  const env::PuSet before = topology_.current_thread_binding();
  try {
    drive(all);
  } catch (const Error& error) {  // a thread is missing: other processes would wait for this one
    if (transport_ != nullptr) end_at_once(error.what());
    throw;
  }
  if (config_.pin != Pin::none) static_cast<void>(topology_.bind_current_thread(before));
  end_ = report_errors(ranks_);
  finish_transport();
  if (tracing_ != nullptr && transport_ == nullptr) tracing_->finish();
  return end_.exit_code;
}

bool Process::end_run() {
  bool is_used = false;
  for (const auto& rank : ranks_) is_used = rank->end_run() || is_used;
  return is_used;
}

void Process::drive(const std::vector<env::Steppable*>& all) {
  std::optional<StatusPage> page;
  std::optional<ClockSync> clocks;
  if (tracing_ != nullptr && layout_.process_count() > 1) {
    clocks.emplace(*env_, tracing_->recorder(), layout_, ranks_);
  }
  std::optional<StallWatch> watch;
  if (config_.stall_report_ns > 0) {
    page.emplace(*env_, page_facts(config_, layout_, all_), ranks_);
    page->update();  // who sees that the run has begun finds its page
    StallWatch::Options options;
    options.on_turn = [&] {
      page->update();
      if (clocks.has_value()) clocks->turn();
    };
    options.stall_ns = config_.stall_report_ns;
    options.abort_ns = config_.stall_abort_ns;
    options.give_up = [this](const std::string& text) { give_up(text); };
    options.write = [](const std::string& text) { env::write_to_standard_error(text); };
    watch.emplace(*env_, layout_, ranks_, std::move(options));
  }
  env_->drive(all);
}

void Process::print_info() {
  if (layout_.process == 0) {
    MpiUse mpi{net::mpi_library(), net::mpi_plugins(), "", net::ProgressPolicy::worker};
    if (transport_ != nullptr) {
      mpi.thread_level = transport_->thread_level();
      mpi.progress = transport_->policy();
    }
    env::write_to_standard_output(describe_run(launch_, layout_, all_, mpi) +
                                  describe_memory(memory_, all_.front().workers, buffers_.text));
  }
  finish_transport();
}

// The watch has ended with the workers, and the other processes may be out of reach from now on.
void Process::finish_transport() {
  if (transport_ == nullptr) return;
  std::optional<env::ExitDeadline> deadline;
  if (config_.stall_abort_ns > 0) {
    deadline.emplace(config_.stall_abort_ns,
                     "shoal: error: the ranks of this process have ended, but other processes do "
                     "not answer: the run is given up (--stall-abort)\n",
                     1);
  }
  try {
    transport_->finish();
  } catch (const Error& error) {  // other processes would wait for this one
    end_at_once(error.what());
  }
}

// Until all ranks have ended, those that have keep polling the transport for the others.
void Process::stop_after_last() {
  if (--ranks_running_ > 0) return;
  for (const auto& rank : ranks_) rank->scheduler().request_stop();
  if (transport_ != nullptr) transport_->request_stop();
}

// Launchers forward a process's output and its MPI_Abort() on different paths: a launcher that
// learns of the abort first ends without the text (Hydra of MPICH 4.0 under load).
void Process::leave_words_to_launcher() const {
  constexpr std::uint64_t kForwardingNs = 200'000'000;
  if (transport_ != nullptr) env::sleep_for(kForwardingNs);
}

void Process::end_at_once(const std::string& text) {
  env::write_to_standard_error({"shoal: error: ", text, "\n"});  // memory may have run out
  leave_words_to_launcher();
  if (transport_ != nullptr) transport_->abort(1);
  std::abort();
}

// Not std::abort(): the report has all information. MPI may wait for unreachable processes, and a
// stream may be locked.
void Process::give_up(const std::string& text) {
  constexpr std::uint64_t kLongestNs = 5'000'000'000;
  const env::ExitDeadline deadline(kLongestNs, "", 1);
  if (!text.empty()) say("error: " + text);
  std::fflush(nullptr);
  leave_words_to_launcher();
  if (transport_ != nullptr) transport_->abort(1);
  std::_Exit(1);
}

/// Phase of the process. Constructors of global objects run in the order of the linked files, so
/// those of a library run after those of the program; destructors and exit handlers run in the
/// reverse order. So this is `main` after the program's constructors, and before its destructors.
enum class Phase { before_main, main, after_main };
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's
constinit std::atomic<Phase> g_phase{Phase::before_main};
constinit std::atomic<int> g_runs_alone{0};  // without a launcher, which notices an exit
constinit std::atomic<int> g_runs_process{0};

// The launcher of a process that exits inside a run ends the others, with an error. Here nobody
// else sees that work is lost.
void at_exit(int code, void* /*unused*/) {
  g_phase = Phase::after_main;
  if (g_runs_alone.exchange(0) == 0 || g_runs_process != env::process_id()) return;
  const std::string where =
      sched::on_worker()
          ? fmt::format(", on rank {}", sched::current_scheduler("exit()").rank().value())
          : "";
  say(fmt::format(
      "error: exit() was called inside shoal::run(){}: what the ranks had still to do is "
      "lost. Throw an exception instead: run() then returns 1",
      where));
  std::fflush(nullptr);
  if (code % 256 == 0) std::_Exit(1);
}
bool note_exit() { return on_exit(&at_exit, nullptr) == 0; }

/// A run that is alone in its process.
class AloneRun {
 public:
  AloneRun() {
    g_runs_process = static_cast<int>(env::process_id());
    ++g_runs_alone;
  }
  ~AloneRun() { --g_runs_alone; }
  AloneRun(const AloneRun&) = delete;
  AloneRun& operator=(const AloneRun&) = delete;
};
[[maybe_unused]] const bool g_phase_begins = [] {
  g_phase = Phase::main;
  return note_exit();
}();
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void check_in_main() {
  const Phase phase = g_phase;
  if (phase == Phase::before_main) {
    throw ConfigError(
        "shoal::run() was called before main(), by the constructor of a global object: call it in "
        "main()");
  }
  if (phase == Phase::after_main) {
    throw ConfigError(
        "shoal::run() was called after the end of main(), by the destructor of a global object or "
        "an exit handler: call it in main()");
  }
  // Once more, for exit handlers of the program that are there already: they come after this one,
  // and after the destructors of what a run has made.
  [[maybe_unused]] static const bool is_noted = note_exit();
}

/// Turn of a run over MPI, of which a process has one at a time.
class MpiTurn {
 public:
  /// Takes the turn. **Errors**: ConfigError while another thread has it.
  explicit MpiTurn(bool uses_mpi) : has_it_(uses_mpi && !taken().exchange(true)) {
    if (uses_mpi == has_it_) return;
    throw ConfigError(
        "shoal::run() was called while another thread of this process is in it: over MPI, runs "
        "follow each other, in the same order in all processes");
  }
  ~MpiTurn() {
    if (has_it_) taken() = false;
  }
  MpiTurn(const MpiTurn&) = delete;
  MpiTurn& operator=(const MpiTurn&) = delete;

 private:
  static std::atomic<bool>& taken() {
    static constinit std::atomic<bool> taken{false};
    return taken;
  }
  const bool has_it_;
};

void check_not_in_world() {
  if (!sched::on_worker()) return;
  throw ConfigError(
      "shoal::run was called inside shoal::run, by a main function, a task or a handler: one world "
      "cannot wait for another on its own workers. Call it before or after, or on a thread of the "
      "program");
}

int run_here(int argc, const char* const* argv, const MainFunction& main_function,
             const ProgramMpi& program) {
  env::open_standard_streams();
  try {
    check_in_main();
    check_not_in_world();
    const auto shared =
        std::make_shared<const Config>(parse_config(argc, argv, process_environment()));
    const Config& config = *shared;
    if (config.help) {
      env::write_to_standard_output(config.help_text);
      return 0;
    }
    if (config.version) {
      env::write_to_standard_output("shoal " SHOAL_VERSION "\n");
      return 0;
    }
    if (config.simulate()) {
      check_not_launched(detect_launcher(process_environment()), program.communicator != nullptr);
      if (config.info) {
        env::write_to_standard_output(describe_simulation(config, net::mpi_plugins()));
        return 0;
      }
      const AloneRun alone;
      return run_simulated(shared, main_function);
    }
    const MpiTurn turn(program.communicator != nullptr ||
                       detect_launcher(process_environment()).launched);
    const auto process = std::make_shared<Process>(config, program);
    if (config.info) {
      process->print_info();
      return 0;
    }
    std::optional<AloneRun> alone;
    if (!process->is_launched()) alone.emplace();
    const int exit_code = process->run(main_function);
    if (process->end_run()) {
      keep_run(shared);
      keep_run(process);
    }
    return exit_code;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return 1;
  }
}

// Text that the main functions have printed belongs to the results of the run.
int code_after_output(int exit_code) {
  try {
    env::write_to_standard_output("");
    return exit_code;
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return std::max(exit_code, 1);
  }
}

}  // namespace

int run_world(int argc, const char* const* argv, const MainFunction& main_function,
              const ProgramMpi& program) {
  const int exit_code = code_after_output(run_here(argc, argv, main_function, program));
  sync::trim_blocks();  // the world is gone, and with it its tasks
  return exit_code;
}

}  // namespace shoal::runtime
