#pragma once
// The machine below a process: which processing units (PUs) it may use, and which worker goes
// where.

#include <shoal/detail/base/function.hpp>
#include <shoal/rank.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::env {

/// Content of a file, or nothing.
using ReadFile = Function<std::optional<std::string>(const std::string& path)>;
std::optional<std::string> read_file(const std::string& path);

/// CPUs that the process may keep busy, by the smallest quota of its cgroups (cpu.max of version 2,
/// cpu.cfs_quota_us of version 1); nothing without a quota. 1.5: three CPUs for half of the time.
/// **Source**: Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
[[nodiscard]] std::optional<double> cpu_quota(const ReadFile& read = read_file);

/// Binding of workers: none, to a whole core, or to one hardware thread (PU).
enum class Pin { none, core, pu };

/// A set of PUs, named by the operating system's index. A value; empty means "not bound".
class PuSet {
 public:
  PuSet() = default;
  /// Takes indices in any order; repeats count once. Errors: CheckError for a negative index.
  explicit PuSet(std::vector<int> os_indices);

  /// Indices, ascending, each once.
  [[nodiscard]] const std::vector<int>& indices() const { return indices_; }
  [[nodiscard]] int count() const { return static_cast<int>(indices_.size()); }
  [[nodiscard]] bool empty() const { return indices_.empty(); }
  [[nodiscard]] bool contains(int os_index) const;
  /// The PUs that both sets have.
  [[nodiscard]] PuSet common_with(const PuSet& other) const;
  /// Returns the set as a CPU list of Linux: "0-3,8".
  [[nodiscard]] std::string to_string() const;

  bool operator==(const PuSet&) const = default;

 private:
  std::vector<int> indices_;
};

/// Logical indices on one node.
struct Location {
  int package = 0;
  int numa = 0;
};

/// The packages, cores and PUs that this process may use, as found when the object was made.
///
/// Caller: any thread; a Topology is not changed after construction. Blocks: never.
class Topology {
 public:
  /// Looks at the machine. Allowed are the PUs of the process's cpuset (cgroup) that the calling
  /// thread is bound to (taskset, mpirun --bind-to, srun --cpu-bind).
  /// `read`: how the CPU quota is found. Errors: ConfigError when hwloc cannot read the machine.
  /// Cost: milliseconds.
  explicit Topology(const ReadFile& read = read_file);
  /// The machine as the first call in this process found it (a process that was forked calls anew);
  /// the calling thread's binding, and the CPU quota, as they are now. Errors: as above. Cost:
  /// milliseconds, the first time.
  static Topology of_process();
  /// A machine that does not exist, for tests, written as hwloc does: "pack:2 core:4 pu:2".
  /// An empty `allowed` allows all of it. Errors: CheckError for a text that hwloc refuses.
  static Topology from_synthetic(const std::string& text, const PuSet& allowed = {});

  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;
  ~Topology();

  /// How many PUs may be used at a time; at least 1. A CPU quota of the cgroup limits it, rounded
  /// down: a process that uses up its quota is stopped for the rest of each period.
  [[nodiscard]] int allowed_pus() const { return std::min(allowed_.count(), quota_pus_); }
  [[nodiscard]] const PuSet& allowed() const { return allowed_; }
  /// Number of PUs that the process could use if its threads were not bound: those of its cpuset.
  [[nodiscard]] int machine_pus() const { return machine_pus_; }

  /// Where to bind the workers [first_worker, first_worker + worker_count) of the `total_workers`
  /// that the ranks of this node run together; one set per worker.
  ///
  /// Workers are spread evenly over the allowed cores (Pin::core: all allowed PUs of a core) or PUs
  /// (Pin::pu: one PU), so that neighbours in number are neighbours on the machine. Pin::core acts
  /// as Pin::pu once there are more workers than cores. With more workers than PUs the placement
  /// wraps: worker i gets PU i modulo the number of PUs. Pin::none gives empty sets. Errors:
  /// CheckError for a range outside [0, total_workers).
  [[nodiscard]] std::vector<PuSet> place(int first_worker, int worker_count, int total_workers,
                                         Pin pin) const;

  /// Binds the calling thread; an empty set leaves it alone. False when the system refuses or when
  /// this is not the real machine; the thread then runs where it did.
  [[nodiscard]] bool bind_current_thread(const PuSet& set) const;
  /// How many of the sets the calling thread cannot be bound to. It is bound as before afterwards.
  [[nodiscard]] int count_unbindable(std::span<const PuSet> sets) const;
  /// Binding of the calling thread; empty when it is not known.
  [[nodiscard]] PuSet current_thread_binding() const;

  /// Returns the location of the first PU of the set, or, if the set is empty, of the first allowed
  /// one.
  [[nodiscard]] Location locate(const PuSet& set) const;
  /// Logical index of the NUMA node of all PUs of the set; -1 if they are of several, or none.
  [[nodiscard]] int memory_node_of(const PuSet& set) const;
  /// Logical indices of all NUMA nodes: those in the package of the set's first PU (of an empty
  /// set: of the first allowed one), then those of the other packages.
  [[nodiscard]] std::vector<int> numa_nodes_from(const PuSet& set) const;
  /// Binds the whole pages of a buffer to a NUMA node, and moves there what was written before.
  /// False when the system refuses, or when this is not the real machine.
  [[nodiscard]] bool bind_memory(std::span<std::byte> buffer, int numa) const;
  /// Returns a text for reports: "package 0 core 3 (PU 6-7)"; "not bound" for an empty set.
  [[nodiscard]] std::string describe(const PuSet& set) const;

 private:
  struct Handle;  // owns the hwloc topology
  struct OfProcess;
  struct Core {
    int package = 0;
    int index = 0;
    PuSet pus;  // allowed ones only; never empty
  };

  explicit Topology(std::shared_ptr<Handle> handle);
  Topology(std::shared_ptr<Handle> machine, const ReadFile& read);
  static std::shared_ptr<Handle> load_machine(bool asks_processors);
  void collect_cores();

  std::shared_ptr<Handle> handle_;
  PuSet allowed_;
  int machine_pus_ = 0;
  int quota_pus_ = std::numeric_limits<int>::max();
  std::vector<Core> cores_;       // in hwloc's logical order: neighbours share caches
  std::vector<int> pus_ordered_;  // the PUs of cores_, in the same order
};

/// Placement of one worker of a rank.
struct WorkerPlacement {
  Rank rank;
  PuSet pus;
};

/// Text with the number of workers that share PUs, some of them, and the remedy; empty if none do.
/// All placements must be of one node. Unbound workers share nothing.
[[nodiscard]] std::string overlap_warning(std::span<const WorkerPlacement> placements);

}  // namespace shoal::env
