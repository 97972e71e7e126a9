#pragma once
// The transport over MPI, without MPI's own header. MPI itself is loaded when a world needs it.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/net/port.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "env/shared_memory.hpp"

namespace shoal::net {

/// One-sided access to memory of other processes, by MPI-3 RMA.
class RemoteMemory {
 public:
  /// Lets other processes read the memory, from when `done` is posted to the port of `owner`, a
  /// rank of this process. The memory stays mapped until the transport ends, since a read may be
  /// under way when a world fails. Any thread; never blocks.
  virtual void expose(std::shared_ptr<env::SharedMemory> memory, Rank owner, Completion* done) = 0;
  /// Reads the bytes at `address` in the process of rank `owner`, which it has exposed. Posts
  /// `done` to the port of `reader`, a rank of this process, when they are in `to`. Any thread;
  /// never blocks.
  virtual void get(Rank reader, Rank owner, std::uint64_t address, std::span<std::byte> to,
                   Completion* done) = 0;

 protected:
  ~RemoteMemory() = default;
};

/// Threads of a process that call MPI.
enum class ProgressPolicy {
  worker,  // any worker that polls, one at a time
  main,    // only the process's main thread
  thread,  // a thread of its own: engine()
};

/// A setting by its name, with its value as a text. Neither has a tab or a line break.
struct Setting {
  std::string name;
  std::string value;
};

/// Facts that decide which MPI a process loads. Texts are empty where nothing is known.
struct MpiChoice {
  std::string plugin;        // --mpi-plugin: name or file
  std::string name;          // --mpi: openmpi, mpich, mpich_abi, system or abi
  std::string launcher;      // of this process, for people
  std::string launcher_mpi;  // that it belongs to: "Open MPI" or "MPICH"
  std::string header;        // that the program was compiled with: likewise, or "the standard ABI"
  bool is_of_program = false;  // a communicator was given: only the MPI that is loaded will do
};

struct MpiOptions {
  MpiChoice choice;
  int ranks_per_process = 1;  // the same in all processes
  ProgressPolicy progress = ProgressPolicy::worker;
  LinkOptions link;  // packet_bytes the same in all processes
  /// Points to an MPI_Comm of the program, which has called MPI_Init. nullptr: MPI_COMM_WORLD, and
  /// MPI is initialized here if it is not yet.
  const void* communicator = nullptr;
  env::Env* env = nullptr;  // required; outlives the transport
  /// A message that is not the first one since a poll, and finds the engine unpolled for this long,
  /// is sent by its own thread. Also how
  /// long the engine must have had nothing to do before it acknowledges small amounts.
  std::uint64_t flush_ns = 20'000;
  /// The program may call MPI meanwhile, even if it has not initialized it.
  bool shared_mpi = false;
  /// The process has one thread that polls: even MPI_THREAD_SINGLE will do, and is asked for with
  /// ProgressPolicy::main unless shared_mpi.
  bool single_threaded = false;
  /// Processes of a node that hand packets to each other through memory that they share, at most;
  /// the same in all processes. 1: all packets go over MPI, as they do between nodes.
  int node_processes = 64;
  /// Makes a window for reads of other processes' memory (MPI-3 RMA); the same in all processes.
  bool remote_memory = false;
  /// Parts that large packets and payloads travel in, the same in all processes; smaller in tests.
  std::size_t chunk_bytes = std::size_t{1} << 30;
  /// Longest time that this process waits for the others when it comes to shoal::run() and when it
  /// exits, before it ends with an error; 0: no limit.
  std::uint64_t exit_timeout_ns = 0;
  /// Time after which processes 0, 1, 2, 4, ... say that they wait for others to come to
  /// shoal::run() as well, and again after twice that time; 0: never.
  std::uint64_t report_ns = 0;
  /// Further settings that must be the same in all processes.
  std::vector<Setting> settings;
};

/// One message to another process and back, on the clocks of both.
struct RoundTrip {
  std::uint64_t start_ticks = 0;
  std::uint64_t remote_ticks = 0;
  std::uint64_t end_ticks = 0;
};
/// Round trips that `parent` started and this process answered.
struct ClockTrips {
  int parent = 0;
  std::vector<RoundTrip> trips;  // empty: this process is the root of the tree
};
/// Reads the clock of the calling process.
using ReadClock = Function<std::uint64_t()>;

/// Transport over MPI: offers more than carrying packets.
class MpiTransport : public Transport {
 public:
  /// The policy in force: `main` where MPI granted too little for the one asked for.
  [[nodiscard]] virtual ProgressPolicy policy() const = 0;
  /// The thread level of MPI, by its name.
  [[nodiscard]] virtual std::string thread_level() const = 0;
  /// The processes that this one shares memory with.
  [[nodiscard]] virtual int near_count() const = 0;
  /// Reads of other processes' memory; nullptr: without MpiOptions::remote_memory.
  [[nodiscard]] virtual RemoteMemory* remote_memory() = 0;
  /// Differences from the request and their consequences for the program; also written to standard
  /// error, by process 0 or, for one node, by a process of it.
  [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
  /// `wake` is called when something was queued that only a poll() sends, while no thread polls,
  /// and when the engine failed and the next poll() would throw. Called by any thread, not under a
  /// lock of the engine; must not block. Caller: while no other thread uses the transport.
  virtual void set_poll_waker(Function<void()> wake) = 0;
  /// Compares the clocks along a tree with process 0 as its root, by `count` round trips for each
  /// process, or fewer (8 at least) where they take longer than 20 ms. Blocks: collective. Caller:
  /// the main thread, before the workers start or in the function of set_before_close().
  [[nodiscard]] virtual ClockTrips compare_clocks(const ReadClock& read, int count) = 0;
  /// finish() calls `function` when all processes have received everything, and it may be
  /// collective.
  virtual void set_before_close(Function<void()> function) = 0;
  /// Makes engine() stop soon. Any thread; without effect when there is no engine.
  virtual void request_stop() = 0;
};

/// Loads the MPI of this process, unless that was done before. Errors: ConfigError when none fits,
/// with everything that was tried, or when several do. Caller: the main thread.
void load_mpi_library(const MpiChoice& choice);
/// Name and version of the MPI that was loaded; "none" before.
std::string mpi_library();
/// Processes of its MPI_COMM_WORLD. Caller: while MPI is up.
int mpi_world_size();
/// The plug-in that was loaded, with its file; before, those that are there, or the folders without
/// any.
std::string mpi_plugins();

/// The MPI_Comm of a communicator's number in Fortran, for MpiOptions::communicator. `library`: the
/// text of MPI_Get_library_version() of the MPI that it belongs to; "": not known. **Errors**:
/// ConfigError when the process has loaded no MPI or shoal none that fits, when shoal uses another
/// MPI than `library`, or when MPI is not initialized.
std::shared_ptr<const void> communicator_of_fortran(int handle, std::string_view library = "");

/// Joins the processes of the communicator, which it duplicates. If MPI is not initialized, this
/// loads and initializes it, for all later transports of the process as well; it is finalized when
/// the process exits. Caller: the main thread, in all processes of the communicator. Blocks:
/// collective. Errors: ConfigError, in all processes, when they disagree about a setting (the text
/// names the hosts), when MPI's thread level does not suffice, when it makes no window that is
/// wanted, or when a process exits instead; ConfigError when the communicator is none of one world,
/// when MPI was finalized, or when no MPI can be loaded; TransportError.
std::unique_ptr<MpiTransport> make_mpi_transport(const MpiOptions& options);

}  // namespace shoal::net
