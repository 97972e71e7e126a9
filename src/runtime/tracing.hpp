#pragma once
// --trace: the recording of a run, from its options to the merged file.

#include "env/host.hpp"
#include "net/mpi_transport.hpp"
#include "runtime/config.hpp"
#include "trace/recorder.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal::runtime {

/// Facts of the run that only its start knows.
struct TracedRun {
  net::Layout layout;
  int workers = 1;  // of each rank
  int cores = 1;    // that the workers of this process may use
  std::string host;
  int processors = 0;  // that this process could use without the mask of its threads; 0: unknown
  std::string mask;    // the processors that it may use
  std::vector<int> memory_nodes{};  // NUMA node of each worker, in rank order; -1: of several
};

/// Records this process. Made in all processes of a run, or in none.
class Tracing {
 public:
  /// Begins the recording. With a transport: collective, compares the clocks.
  /// `virtual_time`: of a simulated world, else nullptr.
  /// **Errors**: Error when the file cannot be created.
  Tracing(const Config& config, const TracedRun& run, net::MpiTransport* transport,
          env::Env* virtual_time);
  /// Ends the recording if finish() was not called: the parts stay.
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  [[nodiscard]] trace::Recorder& recorder() { return recorder_; }

  /// Ends the recording: compares the clocks again and closes the parts, which process 0 merges.
  /// Collective; called after the workers have ended, while the transport is still open. Errors are
  /// written to standard error, as the run itself has succeeded.
  void finish();

 private:
  /// And lets all processes go on at one moment.
  void compare_clocks();
  [[nodiscard]] double ticks_per_ns() const;
  /// Records what the host of a virtual machine took meanwhile.
  void add_stolen();
  void merge_parts();
  [[nodiscard]] bool is_stale(const std::string& part) const;

  const std::string path_;
  const TracedRun run_;
  net::MpiTransport* const transport_;
  const bool is_simulated_;
  const env::TickSample begin_ = env::sample_ticks(env::tick_source());
  const std::int64_t stolen_ns_ = env::stolen_ns();
  trace::Recorder recorder_;
};

/// Makes a Tracing if the configuration asks for one.
std::unique_ptr<Tracing> make_tracing(const Config& config, const TracedRun& run,
                                      net::MpiTransport* transport, env::Env* virtual_time);

}  // namespace shoal::runtime
