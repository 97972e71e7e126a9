#include <shoal/runtime.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sync/block_pool.hpp>
#include <shoal/detail/sync/mutex.hpp>

#include "env/alarm.hpp"
#include "env/host.hpp"
#include "runtime/config.hpp"
#include "runtime/end_report.hpp"
#include "runtime/process.hpp"
#include "runtime/program_phase.hpp"
#include "runtime/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <shared_mutex>

namespace shoal {

namespace runtime {

/// A call of Runtime::run().
struct Section {
  const Function<void(World&)>& function;
  int ranks_left;
};

/// Where the main function of a rank waits for the next section. The program may give one at any
/// time, so a rank that waits here is not stuck.
class Orders final : public sched::WaitingRoom {
 public:
  explicit Orders(sched::Scheduler& scheduler) : WaitingRoom(scheduler) {}

  /// Gives a section; nullptr: the last one was given. **Caller**: any thread.
  void give(Section* section) {
    sync::TakenWaiters woken;
    {
      const sync::Lock lock(mutex_);
      section_ = section;
      is_given_ = true;
      woken = waiters_.take_all();
    }
    woken.wake_all();
  }
  /// Waits for the next section and returns it.
  Section* take() {
    wait_here();
    const sync::Lock lock(mutex_);
    is_given_ = false;
    return section_;
  }

  bool enlist(sync::Waiter& waiter) override {
    const sync::Lock lock(mutex_);
    if (is_given_) return false;
    waiters_.push(waiter);
    return true;
  }
  [[nodiscard]] std::string describe() const override { return kNextCall; }
  [[nodiscard]] bool ends_by_itself() const override { return true; }

 private:
  bool is_given_ SHOAL_GUARDED_BY(mutex_) = false;
  Section* section_ SHOAL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace runtime

namespace {

// Errors do not say "Runtime".
runtime::Config parse(const RuntimeOptions& options) {
  std::vector<std::string> words{options.name};
  const auto add = [&words](const char* option, int value) {
    if (value == 0) return;
    words.emplace_back(option);
    words.push_back(fmt::format("{}", value));
  };
  add("--ranks", options.ranks);
  add("--workers", options.workers);
  words.insert(words.end(), options.options.begin(), options.options.end());
  std::vector<const char*> arguments;
  arguments.reserve(words.size());
  for (const std::string& word : words) arguments.push_back(word.c_str());
  runtime::Config config = runtime::parse_config(static_cast<int>(arguments.size()),
                                                 arguments.data(), runtime::process_environment());
  if (config.args.size() > 1) {
    throw ConfigError(fmt::format(
        "'{}' is no option of shoal: --help of a program that calls shoal::run() lists them",
        config.args[1]));
  }
  if (config.help || config.version || config.info) {
    throw ConfigError("--help, --version and --info are for programs that call shoal::run()");
  }
  if (config.simulate()) {
    throw ConfigError(
        "threads of the program call it, which are not simulated: use shoal::run() for --sim, or "
        "leave the option (or SHOAL_SIM) out");
  }
  return config;
}

runtime::Config config_of(const RuntimeOptions& options) {
  try {
    return parse(options);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("shoal::Runtime '{}': {}", options.name, error.what()));
  }
}

// At the exit of the process. A task is counted a moment longer than its future is ready.
bool still_has_work(const runtime::Process& process) {
  constexpr std::uint64_t kStepNs = 1'000'000;
  constexpr int kSteps = 100;
  for (int i = 0; i < kSteps && process.has_work(); ++i) env::sleep_for(kStepNs);
  return process.has_work();
}

void check_caller(const char* call, const std::string& name) {
  SHOAL_CHECK(!sched::on_worker(),
              "{} of shoal::Runtime '{}' was called in a task, a main function or a handler: its "
              "worker must not wait for the end of others. Call it on a thread of the program, or "
              "give work to the runtime by async()",
              call, name);
}

/// A destructor cannot refuse, and what it destroys is in use: by the caller, if it is one of the
/// runtime's own tasks.
[[noreturn]] void end_in_task(const std::string& name) {
  const int rank = sched::current_scheduler("~Runtime()").rank().value();
  runtime::say(fmt::format(
      "error: shoal::Runtime '{}' was destroyed in a task, a main function or a handler "
      "('{}', on rank {}): its worker must not wait for the end of others. Destroy it "
      "on a thread of the program, or call stop() there before",
      name, sched::current_activity(), rank));
  std::abort();
}

}  // namespace

class Runtime::State {
 public:
  explicit State(const RuntimeOptions& options)
      : name_(options.name),
        config_(std::make_shared<const runtime::Config>(config_of(options))),
        process_(runtime::Process::make_serving(*config_)),
        ranks_(static_cast<std::size_t>(std::max(config_->ranks, 1))) {
    loss_.emplace(
        "exit() was called{} while a shoal::Runtime still had work, which is lost. Call its stop() "
        "before",
        [process = process_] { return still_has_work(*process); });
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }

  void start() {
    thread_ = std::make_unique<env::Thread>("shoal runtime", "the ranks of a shoal::Runtime",
                                            [this] { serve(); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ranks_here_ == size() || has_ended_; });
    if (has_ended_) std::rethrow_exception(take_error());
    is_open_ = true;
  }

  World* enter(Rank rank) {
    SHOAL_CHECK(rank.value() >= 0 && rank.value() < size(),
                "shoal::Runtime '{}' has the ranks 0 to {}, but no rank {}", name_, size() - 1,
                rank.value());
    entries_.lock_shared();
    if (is_open()) return ranks_[static_cast<std::size_t>(rank.value())].world;
    entries_.unlock_shared();
    const std::lock_guard lock(mutex_);
    refuse();
  }
  void leave() { entries_.unlock_shared(); }
  // acquire: the worlds were there before
  [[nodiscard]] bool is_open() const {
    return is_open_.load(std::memory_order_acquire) && !has_ended_.load(std::memory_order_acquire);
  }

  /// stop() has ended the ranks.
  [[nodiscard]] bool is_stopped() const {
    const std::lock_guard lock(mutex_);
    return thread_ == nullptr;
  }

  void run_section(const Function<void(World&)>& function) {
    const std::lock_guard turn(sections_);
    runtime::Section section{function, size()};
    std::unique_lock lock(mutex_);
    if (!is_open()) refuse();
    for (OfRank& rank : ranks_) rank.orders->give(&section);
    changed_.wait(lock, [&] { return section.ranks_left == 0 || has_ended_; });
    if (section.ranks_left > 0) std::rethrow_exception(take_error());
  }

  void stop() {
    const std::lock_guard turn(sections_);
    {
      const std::lock_guard lock(mutex_);
      if (thread_ == nullptr) return;
      is_open_ = false;
    }
    entries_.lock();  // the calls that have begun
    entries_.unlock();
    {
      const std::lock_guard lock(mutex_);
      for (OfRank& rank : ranks_) {
        if (rank.orders != nullptr) rank.orders->give(nullptr);
      }
    }
    thread_.reset();
    loss_.reset();
    if (process_->end_run()) {
      runtime::retain_run(config_);
      runtime::retain_run(process_);
    }
    process_.reset();
    sync::trim_blocks();
    const std::exception_ptr error = [this] {
      const std::lock_guard lock(mutex_);
      return is_told_ ? nullptr : take_error();
    }();
    if (error != nullptr) std::rethrow_exception(error);
  }

 private:
  struct OfRank {
    World* world = nullptr;
    runtime::Orders* orders = nullptr;  // while its main function runs
  };

  // The thread that is worker 0 of the first rank.
  void serve() {
    std::exception_ptr error;
    try {
      error = process_->serve([this](World& world) {
        serve_rank(world);
        return 0;
      });
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    error_ = error;
    has_ended_ = true;
    changed_.notify_all();
  }

  // Errors of a section leave it, and fail the world.
  void serve_rank(World& world) {
    runtime::Orders orders(world.scheduler());
    const Present present(*this, world, orders);
    while (runtime::Section* const section = orders.take()) {
      const Function<void(World&)> mine = section->function;
      mine(world);
      world.wait();
      const std::lock_guard lock(mutex_);
      if (--section->ranks_left == 0) changed_.notify_all();
    }
  }

  /// The orders of a rank can be given from outside.
  class Present {
   public:
    Present(State& state, World& world, runtime::Orders& orders)
        : state_(state), here_(state.ranks_[static_cast<std::size_t>(world.rank().value())]) {
      const std::lock_guard lock(state_.mutex_);
      here_ = {&world, &orders};
      ++state_.ranks_here_;
      state_.changed_.notify_all();
    }
    ~Present() {
      const std::lock_guard lock(state_.mutex_);
      here_.orders = nullptr;
    }
    Present(const Present&) = delete;
    Present& operator=(const Present&) = delete;

   private:
    State& state_;
    OfRank& here_;
  };

  /// The error of the ranks; it is thrown from now on. Under mutex_.
  std::exception_ptr take_error() {
    is_told_ = true;
    return error_;
  }

  [[noreturn]] void refuse() const {
    const std::string reason =
        error_ != nullptr ? "has failed: " + describe(error_) : "was stopped";
    throw Error(fmt::format("shoal::Runtime '{}' {}; make a new one", name_, reason));
  }

  const std::string name_;
  const std::shared_ptr<const runtime::Config> config_;
  std::shared_ptr<runtime::Process> process_;

  std::mutex sections_;        // one call of run() or stop() at a time; before mutex_
  std::shared_mutex entries_;  // held by calls that give work; before mutex_
  mutable std::mutex mutex_;   // for all below; is_open() reads two of them without it
  std::condition_variable changed_;
  std::vector<OfRank> ranks_;
  int ranks_here_ = 0;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> has_ended_{false};  // with error_, if it has failed
  bool is_told_ = false;                // a call has thrown error_
  std::exception_ptr error_;

  std::optional<runtime::LossAtExit> loss_;  // until stop()
  std::unique_ptr<env::Thread> thread_;
};

Runtime::Runtime(const RuntimeOptions& options)
    : state_([&options] {
        env::open_standard_streams();
        runtime::check_in_main("a shoal::Runtime was made");
        check_caller("The constructor", options.name);
        return std::make_unique<State>(options);
      }()),
      size_(state_->size()) {
  state_->start();
}

Runtime::~Runtime() {
  if (state_->is_stopped()) return;
  if (sched::on_worker()) end_in_task(state_->name());
  try {
    stop();
  } catch (const std::exception& error) {
    runtime::say(fmt::format("error: shoal::Runtime '{}': {}", state_->name(), error.what()));
  }
}

bool Runtime::is_running() const { return state_->is_open(); }

void Runtime::run_section(const Function<void(World&)>& function) {
  check_caller("run()", state_->name());
  state_->run_section(function);
}

void Runtime::stop() {
  check_caller("stop()", state_->name());
  state_->stop();
}

Runtime::Entry::Entry(Runtime& runtime, Rank rank)
    : state_(*runtime.state_), world_(state_.enter(rank)) {}

Runtime::Entry::~Entry() { state_.leave(); }

}  // namespace shoal
