#include <shoal/net/mpi_transport.hpp>

#include <shoal/base/check.hpp>

#include <array>
#include <atomic>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_engine.hpp"
#include "net/mpi/mpi_node_memory.hpp"
#include "net/mpi/mpi_progress.hpp"
#include "net/mpi/mpi_session.hpp"

namespace shoal::net {

namespace {

class EngineTransport final : public MpiTransport {
 public:
  explicit EngineTransport(const MpiOptions& options)
      : session_(options),
        node_(session_, options.node_processes),
        engine_(session_, node_, options) {
    if (session_.policy() != ProgressPolicy::thread) return;
    progress_ = std::make_unique<MpiProgress>(engine_, *options.env);
    engine_.set_waker([this] { progress_->wake(); });
  }

  Layout layout() const override { return session_.layout(); }
  ProgressPolicy policy() const override { return session_.policy(); }
  const std::vector<std::string>& notes() const override { return session_.notes(); }

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
  env::Steppable* engine() override { return progress_.get(); }

  void set_poll_waker(std::function<void()> wake) override {
    if (progress_ != nullptr) {
      progress_->set_failure_waker(std::move(wake));
    } else {
      engine_.set_waker(std::move(wake));
    }
  }
  void request_stop() override {
    if (progress_ != nullptr) progress_->request_stop();
  }

  std::uint32_t new_payload_tag() override {
    // relaxed: only the number matters.
    return next_tag_.fetch_add(1, std::memory_order_relaxed) % engine_.payload_tag_count();
  }
  void send_payload(Rank source, Rank target, std::uint32_t tag, std::span<const std::byte> bytes,
                    Event* done) override {
    engine_.send_payload(source, target, tag, bytes, done);
  }
  void receive_payload(Rank source, Rank target, std::uint32_t tag, std::span<std::byte> bytes,
                       Event* done) override {
    engine_.receive_payload(source, target, tag, bytes, done);
  }

  std::vector<std::string> exchange(const std::string& mine) override {
    return session_.exchange(mine);
  }
  void finish() override { engine_.finish(); }
  void abort(int exit_code) override { session_.abort(exit_code); }

 private:
  MpiSession session_;
  MpiNodeMemory node_;
  MpiEngine engine_;
  std::unique_ptr<MpiProgress> progress_;  // policy thread only
  std::atomic<std::uint32_t> next_tag_{0};
};

}  // namespace

bool mpi_available() { return true; }

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  mpi_check(MPI_Get_library_version(text.data(), &length), {"MPI_Get_library_version"});
  const std::string all(text.data());
  return all.substr(0, all.find_first_of(",\n\r"));
}

std::unique_ptr<MpiTransport> make_mpi_transport(const MpiOptions& options) {
  return std::make_unique<EngineTransport>(options);
}

}  // namespace shoal::net
