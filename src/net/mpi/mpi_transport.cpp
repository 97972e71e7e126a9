
#include <shoal/detail/base/check.hpp>

#include <atomic>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_clocks.hpp"
#include "net/mpi/mpi_engine.hpp"
#include "net/mpi/mpi_lifetime.hpp"
#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_plugin.hpp"
#include "net/mpi/mpi_progress.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_window.hpp"
#include "net/mpi_transport.hpp"

namespace shoal::net {

namespace {

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
    return net::compare_clocks(session_, read, count);
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

std::string mpi_plugins() { return describe_plugins(MpiLifetime::of_process().loaded()); }

std::shared_ptr<const void> communicator_of_fortran(int handle) {
  MpiLifetime& lifetime = MpiLifetime::of_process();
  MpiChoice choice;
  choice.is_of_program = true;
  const MpiTable& mpi = lifetime.load(choice);
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
