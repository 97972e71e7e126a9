#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/function.hpp>
#include <shoal/detail/env/env.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_engine.hpp"
#include "net/mpi/mpi_lifetime.hpp"
#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_plugin.hpp"
#include "net/mpi/mpi_rest.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_window.hpp"
#include "net/mpi_transport.hpp"

namespace shoal::net {

namespace {

/// Drives the engine on a thread of its own.
class MpiProgress final : public env::Steppable {
 public:
  MpiProgress(MpiEngine& engine, env::Env& env)
      : engine_(engine), parker_(env.make_parker()), rest_(env) {}

  env::StepResult step() override;
  void run() override;
  [[nodiscard]] std::string name() const override { return "shoal mpi"; }
  [[nodiscard]] std::string purpose() const override { return "the progress of MPI"; }

  /// Makes the thread stop soon. **Caller**: any thread.
  void request_stop();
  /// Called when the engine has work to do, or has failed. **Caller**: any thread.
  void wake();
  /// Called, on the thread that drives this, when the engine has failed.
  void set_failure_waker(Function<void()> waker) { failure_waker_ = std::move(waker); }

 private:
  void rest();

  MpiEngine& engine_;
  std::unique_ptr<env::Parker> parker_;
  MpiRest rest_;
  Function<void()> failure_waker_;
  // seq_cst, both: the parking thread raises parked_ and then looks for work; the others add work
  // and then look at parked_.
  std::atomic<bool> parked_{false};
  std::atomic<bool> stop_{false};
};

env::StepResult MpiProgress::step() {
  if (stop_.load(std::memory_order_seq_cst)) return env::StepResult::stopped;
  const bool worked = engine_.advance();
  if (engine_.has_failed() && failure_waker_) failure_waker_();
  return worked ? env::StepResult::worked : env::StepResult::idle;
}

void MpiProgress::run() {
  while (true) {
    switch (step()) {
      case env::StepResult::stopped:
        return;
      case env::StepResult::worked:
        rest_.end();
        break;
      case env::StepResult::idle:
        rest();
        break;
    }
  }
}

void MpiProgress::rest() {
  const std::uint64_t timeout_ns = rest_.next_sleep_ns();
  if (timeout_ns == 0) return;
  parked_.store(true, std::memory_order_seq_cst);
  if (!engine_.has_submissions() && !stop_.load(std::memory_order_seq_cst))
    parker_->park(timeout_ns);
  parked_.store(false, std::memory_order_seq_cst);
}

void MpiProgress::request_stop() {
  stop_.store(true, std::memory_order_seq_cst);
  parker_->unpark();
}

void MpiProgress::wake() {
  if (parked_.load(std::memory_order_seq_cst)) parker_->unpark();
}

constexpr int kArity = 4;  // of the tree: the depth bounds the error, the width the time
constexpr int kPing = 1;
constexpr int kPong = 2;
constexpr int kTable = 3;
// Minimum number of round trips: where other programs use the processors, each takes two turns of
// the scheduler, and fewer must do.
constexpr std::size_t kFewest = 8;
constexpr std::uint64_t kLongNs = 20'000'000;  // with one child

/// One end of the round trips with a child or with the parent.
class Trips {
 public:
  Trips(const MpiSession& session, MpiComm communicator, const ReadClock& read, int count)
      : session_(session),
        mpi_(session.mpi()),
        communicator_(communicator),
        read_(read),
        most_(static_cast<std::size_t>(count)) {}

  void start_with(int child) {
    std::vector<std::uint64_t> own;  // start and end of each
    const std::uint64_t begin_ns = session_.now_ns();
    for (std::uint64_t is_last = 0; is_last == 0;) {
      const std::size_t number = own.size() / 2 + 1;
      const bool takes_long = number >= kFewest && session_.now_ns() - begin_ns > kLongNs;
      is_last = takes_long || number >= most_ ? 1 : 0;
      std::uint64_t nothing = 0;
      own.push_back(read_());
      send(child, kPing, &is_last, 1);
      receive(child, kPong, &nothing, 1);
      own.push_back(read_());
    }
    send(child, kTable, own.data(), own.size());
  }

  std::vector<RoundTrip> answer(int parent) {
    std::vector<RoundTrip> trips;
    for (std::uint64_t is_last = 0; is_last == 0;) {
      receive(parent, kPing, &is_last, 1);
      trips.push_back({0, read_(), 0});
      const std::uint64_t nothing = 0;
      send(parent, kPong, &nothing, 1);
    }
    std::vector<std::uint64_t> ends(2 * trips.size());
    receive(parent, kTable, ends.data(), ends.size());
    for (std::size_t i = 0; i < trips.size(); ++i) {
      trips[i].start_ticks = ends[2 * i];
      trips[i].end_ticks = ends[2 * i + 1];
    }
    return trips;
  }

 private:
  void send(int to, int tag, const std::uint64_t* values, std::size_t count) const {
    mpi_check(mpi_, mpi_.send(values, size_of(count), to, tag, communicator_),
              {"MPI_Send", session_.process()});
  }
  void receive(int from, int tag, std::uint64_t* values, std::size_t count) const {
    mpi_check(mpi_, mpi_.recv(values, size_of(count), from, tag, communicator_),
              {"MPI_Recv", session_.process()});
  }
  static int size_of(std::size_t count) { return static_cast<int>(count * sizeof(std::uint64_t)); }

  const MpiSession& session_;
  const MpiTable& mpi_;
  MpiComm communicator_;
  const ReadClock& read_;
  std::size_t most_;
};

/// See MpiTransport::compare_clocks().
ClockTrips compare_clocks_along_tree(const MpiSession& session, const ReadClock& read, int count) {
  const int process = session.process();
  const MpiTable& mpi = session.mpi();
  MpiComm own = mpi.comm_null;  // apart from the packets
  mpi_check(mpi, mpi.comm_dup(session.communicator(), &own), {"MPI_Comm_dup", process});
  ClockTrips result;
  Trips trips(session, own, read, count);
  if (process > 0) {
    result.parent = (process - 1) / kArity;
    result.trips = trips.answer(result.parent);
  }
  const int first = process * kArity + 1;
  const int end = std::min(first + kArity, session.layout().process_count());
  for (int child = first; child < end; ++child) trips.start_with(child);
  mpi_check(mpi, mpi.comm_free(&own), {"MPI_Comm_free", process});
  return result;
}

class EngineTransport final : public MpiTransport, private RemoteMemory {
 public:
  explicit EngineTransport(const MpiOptions& options)
      : session_(options),
        node_(session_, options.node_processes),
        window_(session_, options.remote_memory),
        engine_(session_, node_, window_, options) {
    if (session_.policy() != ProgressPolicy::thread) return;
    progress_ = std::make_unique<MpiProgress>(engine_, *options.env);
    engine_.set_waker([this] { progress_->wake(); });
  }

  Layout layout() const override { return session_.layout(); }
  ProgressPolicy policy() const override { return session_.policy(); }
  std::string thread_level() const override { return thread_level_name(session_.thread_level()); }
  int near_count() const override { return node_.near_count(); }
  const std::vector<std::string>& notes() const override { return session_.notes(); }

  RemoteMemory* remote_memory() override { return window_.exists() ? this : nullptr; }

  void attach(Fabric& fabric) override { engine_.attach(fabric); }
  std::unique_ptr<Link> make_link(Rank source, Rank target, Lane lane) override {
    return engine_.make_link(source, target, lane);
  }

  bool poll(bool main_thread, DirectArrivals* direct) override {
    const ProgressPolicy policy = session_.policy();
    if (policy == ProgressPolicy::main && !main_thread) return false;
    const bool worked = policy != ProgressPolicy::thread && engine_.advance(direct);
    engine_.rethrow_failure();
    return worked;
  }
  bool has_unsent() const override { return engine_.has_submissions(); }
  bool is_streaming() const override { return engine_.is_streaming(); }
  bool shares_memory(int process) const override { return node_.is_near(process); }
  void lock_calls() override { engine_.lock_calls(); }
  void unlock_calls() override { engine_.unlock_calls(); }
  env::Steppable* engine() override { return progress_.get(); }

  void set_poll_waker(Function<void()> wake) override {
    if (progress_ != nullptr) {
      progress_->set_failure_waker(std::move(wake));
    } else {
      engine_.set_waker(std::move(wake));
    }
  }
  ClockTrips compare_clocks(const ReadClock& read, int count) override {
    return compare_clocks_along_tree(session_, read, count);
  }
  void set_before_close(Function<void()> function) override {
    engine_.set_before_close(std::move(function));
  }
  void request_stop() override {
    if (progress_ != nullptr) progress_->request_stop();
  }

  std::uint32_t new_payload_tag() override {
    // relaxed: only the number matters.
    return next_tag_.fetch_add(1, std::memory_order_relaxed) % engine_.payloads().tag_count();
  }
  void send_payload(Rank source, Rank target, std::uint32_t tag, std::span<const std::byte> bytes,
                    Completion* done) override {
    engine_.payloads().send(source, target, tag, bytes, done);
  }
  void receive_payload(Rank source, Rank target, std::uint32_t tag, std::span<std::byte> bytes,
                       Completion* done) override {
    engine_.payloads().receive(source, target, tag, bytes, done);
  }

  std::vector<std::string> exchange(const std::string& mine) override {
    return session_.exchange(mine);
  }
  void finish() override { engine_.finish(); }
  void abort(int exit_code) override { session_.abort(exit_code); }

 private:
  void expose(std::shared_ptr<env::SharedMemory> memory, Rank owner, Completion* done) override {
    engine_.payloads().expose(std::move(memory), owner, done);
  }
  void get(Rank reader, Rank owner, std::uint64_t address, std::span<std::byte> to,
           Completion* done) override {
    engine_.payloads().get(reader, owner, address, to, done);
  }

  MpiSession session_;
  MpiNodeMemory node_;
  MpiWindow window_;
  MpiEngine engine_;
  std::unique_ptr<MpiProgress> progress_;  // policy thread only
  std::atomic<std::uint32_t> next_tag_{0};
};

}  // namespace

void load_mpi_library(const MpiChoice& choice) { MpiLifetime::of_process().load(choice); }

std::string mpi_library() {
  const MpiTable* const mpi = MpiLifetime::of_process().loaded();
  return mpi != nullptr ? library_version(*mpi) : "none";
}

int mpi_world_size() {
  const MpiTable& mpi = *MpiLifetime::of_process().loaded();
  int size = 0;
  mpi_check(mpi, mpi.comm_size(mpi.comm_world, &size), {"MPI_Comm_size"});
  return size;
}

std::string mpi_plugins() { return describe_plugins(MpiLifetime::of_process().loaded()); }

std::shared_ptr<const void> communicator_of_fortran(int handle, std::string_view library) {
  MpiLifetime& lifetime = MpiLifetime::of_process();
  MpiChoice choice;
  choice.is_of_program = true;
  choice.header = kind_name(kind_of_version(library));
  const MpiTable& mpi = lifetime.load(choice);
  const std::string theirs = first_line(library);
  if (const std::string ours = library_version(mpi); !library.empty() && theirs != ours) {
    throw ConfigError(
        fmt::format("a communicator of {} was given, but shoal uses {} in this process: give one "
                    "of that MPI",
                    theirs, ours));
  }
  if (!lifetime.is_up()) {
    throw ConfigError(
        "a communicator was given, but MPI is not initialized: call MPI_Init_thread first");
  }
  return std::make_shared<const MpiComm>(mpi.comm_f2c(handle));
}

std::unique_ptr<MpiTransport> make_mpi_transport(const MpiOptions& options) {
  return std::make_unique<EngineTransport>(options);
}

}  // namespace shoal::net
