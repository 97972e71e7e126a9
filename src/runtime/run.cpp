#include <shoal/runtime/run.hpp>

#include <shoal/net/mpi_transport.hpp>
#include <shoal/sync/block_pool.hpp>

#include "env/host.hpp"
#include "runtime/config.hpp"
#include "runtime/end_report.hpp"
#include "runtime/launcher.hpp"
#include "runtime/process_info.hpp"
#include "runtime/rank_runtime.hpp"
#include "runtime/simulated_run.hpp"
#include "runtime/stall_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace shoal::runtime {

namespace {

net::ProgressPolicy policy_of(Progress progress) {
  switch (progress) {
    case Progress::main:
      return net::ProgressPolicy::main;
    case Progress::thread:
      return net::ProgressPolicy::thread;
    case Progress::worker:
      break;
  }
  return net::ProgressPolicy::worker;
}

/// One process of a world: what its ranks share, and the ranks.
class Process {
 public:
  Process(const Config& config, const void* communicator);

  int run(const MainFunction& main_function);

 private:
  void make_transport(const void* communicator);
  void make_ranks();
  [[nodiscard]] sched::SchedulerOptions scheduler_options(Rank rank) const;
  [[nodiscard]] bool is_oversubscribed() const;
  [[nodiscard]] messaging::MessengerOptions messenger_options(Rank rank) const;
  [[noreturn]] void end_at_once(const std::string& text);
  void stop_after_last();

  const Config& config_;
  std::unique_ptr<env::Env> env_;
  env::Topology topology_;
  std::unique_ptr<net::MpiTransport> transport_;
  net::Layout layout_;
  int workers_ = 1;  // per rank
  Placement placement_;
  std::unique_ptr<net::Fabric> fabric_;
  const std::shared_ptr<env::GuardCount> mapped_guards_ = std::make_shared<env::GuardCount>(0);
  std::vector<std::unique_ptr<RankRuntime>> ranks_;
  std::atomic<int> ranks_running_{0};
};

Process::Process(const Config& config, const void* communicator)
    : config_(config), env_(env::make_thread_env()) {
  make_transport(communicator);
  if (transport_ != nullptr) {
    layout_ = transport_->layout();
    if (config.ranks > 0 && config.ranks != layout_.world_size) {
      throw ConfigError(
          fmt::format("--ranks {} was asked for, but the launcher started {} processes with {} "
                      "ranks each: leave "
                      "--ranks out, or start as many processes as it takes",
                      config.ranks, layout_.process_count(), layout_.ranks_per_process));
    }
  } else {
    layout_.world_size = std::max(config.ranks, 1);
    layout_.ranks_per_process = layout_.world_size;
  }

  const std::string host = env::host_name();
  ProcessInfo mine{messaging::static_fingerprint(), host, topology_.allowed().indices(),
                   layout_.ranks_per_process, 0};
  // Workers are shared out among the ranks that may use the same PUs.
  std::vector<ProcessInfo> all = exchange_info(transport_.get(), mine);
  check_fingerprints(all, layout_.process);
  int ranks_sharing = 0;
  for (const ProcessInfo& other : all) {
    if (other.host == host && other.allowed_pus == mine.allowed_pus) ranks_sharing += other.ranks;
  }
  workers_ = worker_count(config, topology_.allowed_pus(), ranks_sharing);
  mine.workers = workers_ * layout_.ranks_per_process;
  all = exchange_info(transport_.get(), mine);
  placement_ = place_workers(topology_, config.pin, transport_.get(), all, layout_);
  for (const std::string& warning : placement_.warnings) say("warning: " + warning);
  make_ranks();
}

void Process::make_transport(const void* communicator) {
  const LaunchInfo launch = detect_launcher(process_environment());
  if (communicator == nullptr && !launch.launched) return;
  if (communicator == nullptr && !net::mpi_available()) {
    check_world_size(launch, 1, false);
    return;
  }
  net::MpiOptions options;
  options.ranks_per_process = config_.ranks_per_process;
  options.progress = policy_of(config_.progress);
  options.link = {config_.packet_bytes, config_.window_bytes};
  options.communicator = communicator;
  options.env = env_.get();
  options.flush_ns = config_.flush_ns;
  options.node_processes = config_.node_processes;
  options.shared_mpi = config_.shared_mpi;
  options.single_threaded = config_.ranks_per_process == 1 && config_.workers == 1 &&
                            config_.progress != Progress::thread;
  transport_ = net::make_mpi_transport(options);
  if (communicator == nullptr) {
    check_world_size(launch, transport_->layout().process_count(), true);
  }
}

sched::SchedulerOptions Process::scheduler_options(Rank rank) const {
  sched::SchedulerOptions options;
  options.rank = rank;
  options.worker_count = workers_;
  options.stack_bytes = config_.stack_bytes;
  options.mapped_guards = mapped_guards_;
  options.oversubscribed = is_oversubscribed();
  const std::size_t first =
      static_cast<std::size_t>(rank - layout_.first_local()) * static_cast<std::size_t>(workers_);
  options.on_worker_start = [this, first](WorkerId worker) {
    const env::PuSet& place = placement_.workers[first + static_cast<std::size_t>(worker.value())];
    if (!place.empty() && !topology_.bind_current_thread(place)) {
      say(fmt::format("warning: a worker could not be bound to {}", topology_.describe(place)));
    }
  };
  return options;
}

bool Process::is_oversubscribed() const {
  return workers_ * layout_.ranks_per_process > topology_.allowed_pus();
}

messaging::MessengerOptions Process::messenger_options(Rank rank) const {
  messaging::MessengerOptions options;
  options.rank = rank;
  options.may_linger = !is_oversubscribed();
  options.check_payloads = config_.check_payloads;
  if (transport_ == nullptr || transport_->engine() != nullptr) return options;
  const bool main_only = transport_->policy() == net::ProgressPolicy::main;
  options.polls_transport = !main_only || rank == layout_.first_local();
  options.only_poller = main_only ? 0 : -1;  // worker 0 runs on the thread that called run()
  return options;
}

void Process::make_ranks() {
  fabric_ = std::make_unique<net::Fabric>(
      layout_, net::LinkOptions{config_.packet_bytes, config_.window_bytes}, transport_.get());
  for (int i = 0; i < layout_.ranks_per_process; ++i) {
    const Rank rank(layout_.first_local() + i);
    const RankOptions options{scheduler_options(rank), messenger_options(rank), config_.args,
                              transport_ != nullptr ? Launch::mpi : Launch::embedded};
    ranks_.push_back(std::make_unique<RankRuntime>(
        *env_, *fabric_, options, [this](const std::string& text) { end_at_once(text); }));
  }
  if (transport_ == nullptr) return;
  // Something waits to be sent and nobody polls: a sleeping worker that may poll does it. An engine
  // with its own thread calls only when it has failed, and nobody else would notice.
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
      ranks_.front()->scheduler().wake(WorkerId(0));
      return;
    }
    for (const auto& rank : ranks_) rank->scheduler().wake_one();
  });
}

int Process::run(const MainFunction& main_function) {
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
  std::optional<StallWatch> watch;
  if (config_.stall_report_ns > 0) {
    StallWatch::Options options;
    options.stall_ns = config_.stall_report_ns;
    options.write = [](const std::string& text) { env::write_to_standard_error(text); };
    watch.emplace(*env_, layout_, ranks_, std::move(options));
  }
  env_->drive(all);
  watch.reset();
  if (config_.pin != Pin::none) static_cast<void>(topology_.bind_current_thread(before));
  const int exit_code = report_errors(ranks_);
  if (transport_ != nullptr) transport_->finish();
  return exit_code;
}

// Until all ranks have ended, those that have keep polling the transport for the others.
void Process::stop_after_last() {
  if (--ranks_running_ > 0) return;
  for (const auto& rank : ranks_) rank->scheduler().request_stop();
  if (transport_ != nullptr) transport_->request_stop();
}

void Process::end_at_once(const std::string& text) {
  say("error: " + text);
  std::fflush(stderr);
  if (transport_ != nullptr) transport_->abort(1);
  std::abort();
}

void check_not_launched(const void* communicator) {
  const LaunchInfo launch = detect_launcher(process_environment());
  if (communicator == nullptr && launch.size == 1) return;
  throw ConfigError(
      "--sim: a simulated world has all its ranks in one process: start the program without a "
      "launcher, with --sim --ranks N");
}

int run_here(int argc, const char* const* argv, const MainFunction& main_function,
             const void* communicator) {
  try {
    const Config config = parse_config(argc, argv, process_environment());
    if (config.help) {
      fmt::print("{}", config.help_text);
      return 0;
    }
    if (config.simulate()) {
      check_not_launched(communicator);
      return run_simulated(config, main_function);
    }
    Process process(config, communicator);
    return process.run(main_function);
  } catch (const std::exception& error) {
    say(std::string("error: ") + error.what());
    return 1;
  }
}

}  // namespace

int run_world(int argc, const char* const* argv, const MainFunction& main_function,
              const void* communicator) {
  const int exit_code = run_here(argc, argv, main_function, communicator);
  sync::trim_blocks();  // the world is gone, and with it its tasks
  return exit_code;
}

}  // namespace shoal::runtime
