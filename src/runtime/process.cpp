#include "runtime/process.hpp"

#include "env/alarm.hpp"
#include "env/host.hpp"
#include "env/ticks.hpp"
#include "runtime/clock_sync.hpp"
#include "runtime/placement.hpp"
#include "runtime/process_info.hpp"
#include "runtime/rank_report.hpp"
#include "runtime/stall_watch.hpp"
#include "runtime/status_page.hpp"
#include "sched/inspector.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace shoal::runtime {

namespace {

/// Returns the options of the transport, without the communicator and the environment.
net::MpiOptions transport_options(const Config& config, int allowed_pus) {
  net::MpiOptions options;
  options.ranks_per_process = config.ranks_per_process;
  options.progress = config.progress;
  options.link = {config.packet_bytes, config.window_bytes};
  options.flush_ns = config.flush_ns;
  options.node_processes = config.node_processes;
  options.remote_memory = config.global_rma_bytes > 0;
  options.shared_mpi = config.shared_mpi;
  options.exit_timeout_ns = config.stall_abort_ns;
  options.report_ns = config.stall_report_ns;
  options.settings = agreed_settings(config);
  const bool one_worker = config.workers == 1 || (config.workers == 0 && allowed_pus == 1);
  options.single_threaded =
      config.ranks_per_process == 1 && one_worker && config.progress != net::ProgressPolicy::thread;
  return options;
}

}  // namespace

Process::Process(const Config& config, const ProgramMpi& program)
    : Process(config, program, Kind::launched) {}

std::shared_ptr<Process> Process::make_serving(const Config& config) {
  return std::shared_ptr<Process>(new Process(config, {}, Kind::serving));
}

Process::Process(const Config& config, const ProgramMpi& program, Kind kind)
    : config_(config),
      kind_(kind),
      launch_(kind == Kind::launched ? detect_launcher(process_environment()) : LaunchInfo()) {
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
  const std::string problem = lone_process(launch_, net::mpi_world_size(), net::mpi_library());
  if (problem.empty()) return;
  if (program.communicator != nullptr) return say("note: " + problem);  // it may be on purpose
  finish_transport();                                                   // each of them is alone
  throw ConfigError(problem);
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

team::MessengerOptions Process::messenger_options(Rank rank) const {
  team::MessengerOptions options;
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
  team::TreeCosts costs = config_.multicast_costs;
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
                              costs,
                              false,
                              kind_ == Kind::serving};
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
  if (config_.trace_path.empty()) return;
  std::vector<int> nodes;
  nodes.reserve(places_.size());
  for (const env::PuSet& place : places_) nodes.push_back(topology_.memory_node_of(place));
  tracing_ =
      make_tracing(config_,
                   {layout_, workers_, topology_.allowed_pus(), env::raw_clock_name(),
                    topology_.machine_pus(), topology_.allowed().to_string(), std::move(nodes)},
                   transport_.get(), nullptr);
}

int Process::run(const MainFunction& main_function) {
  execute(main_function);
  end_ = report_errors(ranks_);
  finish_transport();
  if (tracing_ != nullptr && transport_ == nullptr) tracing_->finish();
  return end_.exit_code;
}

std::exception_ptr Process::serve(const MainFunction& main_function) {
  execute(main_function);
  if (tracing_ != nullptr) tracing_->finish();
  report_untaken(ranks_);
  std::exception_ptr first;
  for (const auto& rank : ranks_) {
    if (rank->thrown() != nullptr) return rank->thrown();
    if (first == nullptr) first = rank->error();
  }
  return first;
}

// A hint, as it goes on meanwhile.
bool Process::has_work() const {
  if (!are_made_.load(std::memory_order_acquire)) return false;
  const auto has = [](const auto& rank) {
    const sched::TaskScope::Totals totals = rank->core().all_totals();
    return totals.created != totals.finished || rank->scheduler().waiting().size() > 1;
  };
  return std::ranges::any_of(ranks_, has);
}

void Process::execute(const MainFunction& main_function) {
  begin_trace();
  const auto before_close = [this] {
    if (tracing_ != nullptr) tracing_->finish();
    report_caught(end_, *transport_);
  };
  if (transport_ != nullptr) transport_->set_before_close(before_close);
  make_ranks();
  are_made_.store(true, std::memory_order_release);
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
    if (kind_ == Kind::serving) {
      options.is_idle = [this] {
        const auto awaits = [](const auto& rank) { return awaits_call(*rank); };
        return !has_work() && std::ranges::all_of(ranks_, awaits);
      };
    }
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
                                  describe_memory(memory_, all_.front().workers, buffers_.text) +
                                  describe_malloc());
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

}  // namespace shoal::runtime
