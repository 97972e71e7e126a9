#pragma once
// Recorder of a process: buffers per thread, and a thread of its own that writes them.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/trace/event.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "env/ticks.hpp"
#include "trace/file.hpp"

namespace shoal::trace {

/// Facts about the run, written into its trace: pairs of a name and a value. Tools know these:
/// "program", "arguments", "commit"; "host" (processes with the same one share its clock) and
/// "cores" (processors that workers of this process may use).
using Identity = std::vector<std::pair<std::string, std::string>>;

struct Options {
  std::string path;                           // of this process's part; see part_path()
  std::uint32_t categories = kAllCategories;  // bits of Category
  bool paused = false;                        // recording begins with Recorder::resume()
  std::uint32_t process = 0;
  std::uint32_t processes = 1;
  int first_rank = 0;  // of the process: the rank of threads that have no track
  Identity identity;
  std::size_t buffer_bytes = std::size_t{6} << 20U;    // of each thread
  std::size_t memory_bytes = std::size_t{512} << 20U;  // of all buffers: late tracks get less
  std::uint64_t flush_ns = 100'000'000;  // what is older than this is written, and survives a kill
  env::TickSource ticks = env::tick_source();
  /// Virtual time of a simulated world. Its threads write their own buffers, which costs no virtual
  /// time: nothing is dropped, and the same seed writes the same file. nullptr: ticks.
  env::Env* virtual_time = nullptr;
};

/// Path of one process's part of the trace `path`: "path.part3".
[[nodiscard]] std::string part_path(const std::string& path, std::uint32_t process);

/// Events dropped because a buffer was full, by category; descriptions are counted apart.
struct Drops {
  std::array<std::uint64_t, kCategoryCount> events{};
  std::uint64_t details = 0;
  [[nodiscard]] std::uint64_t total() const;
  bool operator==(const Drops&) const = default;
};

class Session;
class Stream;

/// Line of the timeline: a worker, or another thread. Made by a Recorder, which it may outlive.
/// **Lifetime**: a thread that has entered it leaves it before it ends.
class Track {
 public:
  Track() = default;
  explicit Track(std::shared_ptr<Stream> stream);
  ~Track();
  Track(Track&&) noexcept;
  Track& operator=(Track&&) noexcept;

  /// The calling thread's events belong to this track from now on. **Cost**: two stores.
  void enter() const noexcept;
  /// The calling thread's events belong to no track: its next one makes a track for the thread.
  static void leave() noexcept;

 private:
  std::shared_ptr<Stream> stream_;
};

/// Records the events of this process into a file, from construction to finish(). A process has one
/// at a time.
///
/// Events of one thread are written in their order. A buffer that is full drops what comes, counts
/// it, and marks the place by an event `lost`. A killed process leaves a file that holds all but
/// about the last `flush_ns`.
class Recorder {
 public:
  /// Starts a recording. **Errors**: Error when another one is active, or when the file cannot be
  /// created.
  explicit Recorder(Options options);
  /// Finishes; errors are written to standard error.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// A track of a worker. Any thread. `name`: for readers, such as "worker 1". Two tracks may be of
  /// one worker, one after the other.
  [[nodiscard]] Track make_track(int rank, int worker, const std::string& name);

  // Region of interest. Any thread. Counted from the state at the start; idempotent.
  void resume();
  void pause();
  [[nodiscard]] bool is_paused() const;

  /// Ticks of the clock of this recorder's events, for synchronization.
  [[nodiscard]] std::uint64_t now_ticks() const;
  /// Adds moments at which the clocks of two processes were compared. Any thread.
  void add_sync(std::span<const SyncPoint> points);
  /// Adds a moment at which all processes left a barrier, on the clock of this one; the processes
  /// add the same barriers in the same order. Any thread.
  void add_barrier(std::uint64_t local_ticks);
  /// Adds facts that were not known at the start; the last one of a name counts. Any thread.
  void add_identity(const Identity& more);

  [[nodiscard]] Drops drops() const;
  [[nodiscard]] const std::string& path() const;

  /// Writes what is left and closes the file. Events that come later are not recorded.
  /// **Errors**: Error when the disk is full or fails, also if the background thread met it.
  void finish();

 private:
  std::shared_ptr<Session> session_;
  bool finished_ = false;
};

}  // namespace shoal::trace
