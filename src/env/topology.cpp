#include "env/topology.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace shoal::env {

namespace {

/// Removes the next word from a text and returns it.
std::string_view next_word(std::string_view& text, std::string_view between) {
  text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(between));
  text.remove_prefix(word.size());
  return word;
}

std::optional<double> number(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value <= 0) return std::nullopt;
  return value;  // neither "max" nor -1
}

/// A quota and its period, both in microseconds, with nothing but blanks between.
std::optional<double> cpus_of(std::string_view text) {
  const auto quota = number(next_word(text, " \n"));
  const auto period = number(next_word(text, " \n"));
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

std::optional<double> quota_of_group(const ReadFile& read, const std::string& folder, bool is_v2) {
  if (is_v2) return cpus_of(read(folder + "/cpu.max").value_or(""));
  return cpus_of(read(folder + "/cpu.cfs_quota_us").value_or("") + " " +
                 read(folder + "/cpu.cfs_period_us").value_or(""));
}

/// Smallest quota of a group and those around it. In a container, the outer ones are not there, or
/// the group's own files are at the root.
std::optional<double> smallest_quota(const ReadFile& read, const std::string& root,
                                     std::string group, bool is_v2) {
  std::optional<double> smallest;
  for (;;) {
    if (group == "/") group.clear();
    if (const auto quota = quota_of_group(read, root + group, is_v2)) {
      smallest = std::min(smallest.value_or(*quota), *quota);
    }
    if (group.empty()) return smallest;
    group.erase(std::min(group.rfind('/'), group.size()));
  }
}

bool has_controller(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    if (next_word(list, ",") == wanted) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A line of /proc/self/cgroup is NUMBER:CONTROLLERS:GROUP, without controllers for version 2.
std::optional<double> cpu_quota(const ReadFile& read) {
  const std::string groups = read("/proc/self/cgroup").value_or("");
  std::string_view rest = groups;
  std::optional<double> smallest;
  while (!rest.empty()) {
    const std::string_view line = next_word(rest, "\n");
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    const bool is_v2 = controllers.empty();
    if (!is_v2 && !has_controller(controllers, "cpu")) continue;
    for (const char* const mount : {"", "/unified", "/cpu", "/cpu,cpuacct"}) {
      const auto quota = smallest_quota(read, std::string("/sys/fs/cgroup") + mount, group, is_v2);
      if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
    }
  }
  return smallest;
}

namespace {

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

Bitmap make_bitmap() {
  Bitmap bitmap(hwloc_bitmap_alloc());
  SHOAL_CHECK(bitmap != nullptr, "hwloc has no memory for a CPU set");
  return bitmap;
}

PuSet to_pu_set(hwloc_const_bitmap_t bitmap) {
  std::vector<int> indices;
  for (int pu = hwloc_bitmap_first(bitmap); pu != -1; pu = hwloc_bitmap_next(bitmap, pu)) {
    indices.push_back(pu);
  }
  return PuSet(std::move(indices));
}

Bitmap to_bitmap(const PuSet& set) {
  Bitmap bitmap = make_bitmap();
  for (const int pu : set.indices()) {
    SHOAL_CHECK(hwloc_bitmap_set(bitmap.get(), static_cast<unsigned>(pu)) == 0,
                "hwloc has no memory for PU {}", pu);
  }
  return bitmap;
}

int package_of(hwloc_topology_t topology, hwloc_obj_t object) {
  const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
  return package == nullptr ? 0 : static_cast<int>(package->logical_index);
}

/// Returns the unit of worker `worker` of `total` on `unit_count` units: spread evenly while the
/// units suffice, else cyclically.
std::size_t unit_of(int worker, int total, std::size_t unit_count) {
  const auto index = static_cast<std::size_t>(worker);
  const auto workers = static_cast<std::size_t>(total);
  return workers <= unit_count ? index * unit_count / workers : index % unit_count;
}

}  // namespace

PuSet::PuSet(std::vector<int> os_indices) : indices_(std::move(os_indices)) {
  std::sort(indices_.begin(), indices_.end());
  indices_.erase(std::unique(indices_.begin(), indices_.end()), indices_.end());
  SHOAL_CHECK(indices_.empty() || indices_.front() >= 0, "PU index {} is negative",
              indices_.front());
}

bool PuSet::contains(int os_index) const {
  return std::binary_search(indices_.begin(), indices_.end(), os_index);
}

PuSet PuSet::common_with(const PuSet& other) const {
  PuSet common;
  std::set_intersection(indices_.begin(), indices_.end(), other.indices_.begin(),
                        other.indices_.end(), std::back_inserter(common.indices_));
  return common;
}

std::string PuSet::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < indices_.size();) {
    std::size_t last = i;
    while (last + 1 < indices_.size() && indices_[last + 1] == indices_[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", indices_[i]);
    if (last > i) {
      text += fmt::format("-{}", indices_[last]);
    }
    i = last + 1;
  }
  return text;
}

struct Topology::Handle {
  Handle() {
    // Where /sys is missing, hwloc prints a warning in every process that loads a topology, for
    // itself and for MPI. Setting the variable to 0 brings the warnings back.
    setenv("HWLOC_HIDE_ERRORS", "2", 0);  // NOLINT(concurrency-mt-unsafe): set once, by the first
    SHOAL_CHECK(hwloc_topology_init(&topology) == 0, "hwloc could not start");
  }
  ~Handle() { hwloc_topology_destroy(topology); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] bool is_real_machine() const { return hwloc_topology_is_thissystem(topology) != 0; }

  hwloc_topology_t topology = nullptr;
};

// The x86 component of hwloc asks each processor for its caches and cores, with the calling thread
// bound to one after the other, which takes tens of milliseconds where other programs compute. It
// is used only if the operating system shows no cores, as in a container without /sys.
std::shared_ptr<Topology::Handle> Topology::load_machine(bool asks_processors) {
  auto handle = std::make_shared<Handle>();
  if (!asks_processors) {
    static_cast<void>(hwloc_topology_set_components(
        handle->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86"));
  }
  if (hwloc_topology_load(handle->topology) != 0) {
    throw ConfigError(
        "hwloc could not read the topology of this machine; `lstopo` shows why (an HWLOC_XMLFILE "
        "or HWLOC_SYNTHETIC variable that points to nothing is a common reason)");
  }
  const bool shows_cores = hwloc_get_nbobjs_by_type(handle->topology, HWLOC_OBJ_CORE) > 0;
  return shows_cores || asks_processors ? handle : load_machine(true);
}

/// The machine as a process has read it.
struct Topology::OfProcess {
  pid_t process;
  std::shared_ptr<Handle> machine;
  const OfProcess* before;  // that of the process that this one was forked from
};

// hwloc unloads its plug-ins with the last topology, and loading them takes longer than reading the
// machine. This one lasts, also beside destructors of globals. Nothing changes it, so any thread
// may read it. A process that was forked may have been moved to other processors, and reads again;
// no lock, as another thread could have held it.
Topology Topology::of_process() {
  static std::atomic<const OfProcess*> known{nullptr};
  const OfProcess* last = known.load(std::memory_order_acquire);
  if (last == nullptr || last->process != getpid()) {
    const auto* const mine = new OfProcess{getpid(), load_machine(false), last};
    // acq_rel: readers see the machine; acquire: that of a thread that was first
    if (known.compare_exchange_strong(last, mine, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      last = mine;
    } else {
      delete mine;
    }
  }
  return {last->machine, read_file};
}

Topology::Topology(const ReadFile& read) : Topology(load_machine(false), read) {}

Topology::Topology(std::shared_ptr<Handle> machine, const ReadFile& read)
    : handle_(std::move(machine)) {
  allowed_ = to_pu_set(hwloc_topology_get_allowed_cpuset(handle_->topology));
  machine_pus_ = allowed_.count();
  // New threads inherit the binding of the thread that starts them, so this thread's counts.
  if (const PuSet common = allowed_.common_with(current_thread_binding()); !common.empty()) {
    allowed_ = common;
  }
  if (const auto quota = cpu_quota(read); quota && *quota < allowed_.count()) {
    quota_pus_ = std::max(1, static_cast<int>(*quota));
  }
  collect_cores();
}

Topology::Topology(std::shared_ptr<Handle> handle) : handle_(std::move(handle)) {}

Topology Topology::from_synthetic(const std::string& text, const PuSet& allowed) {
  auto handle = std::make_shared<Handle>();
  SHOAL_CHECK(hwloc_topology_set_synthetic(handle->topology, text.c_str()) == 0 &&
                  hwloc_topology_load(handle->topology) == 0,
              "hwloc refuses the synthetic topology '{}'", text);
  Topology result(std::move(handle));
  result.allowed_ = to_pu_set(hwloc_topology_get_allowed_cpuset(result.handle_->topology));
  result.machine_pus_ = result.allowed_.count();
  if (!allowed.empty()) {
    result.allowed_ = result.allowed_.common_with(allowed);
  }
  SHOAL_CHECK(!result.allowed_.empty(), "no PU of '{}' is among {}", text, allowed.to_string());
  result.collect_cores();
  return result;
}

Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;
Topology::~Topology() = default;

// PUs are walked instead of cores, because some virtual machines show PUs without cores; each such
// PU then counts as a core of its own.
void Topology::collect_cores() {
  hwloc_topology_t topology = handle_->topology;
  const int pu_count = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  hwloc_obj_t core_before = nullptr;
  std::vector<int> pus;
  for (int i = 0; i < pu_count; ++i) {
    const hwloc_obj_t pu = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, static_cast<unsigned>(i));
    const int os_index = static_cast<int>(pu->os_index);
    if (!allowed_.contains(os_index)) {
      continue;
    }
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    core = core == nullptr ? pu : core;
    if (core != core_before) {
      cores_.push_back({package_of(topology, pu), static_cast<int>(core->logical_index), {}});
      pus.clear();
      core_before = core;
    }
    pus.push_back(os_index);
    cores_.back().pus = PuSet(pus);
    pus_ordered_.push_back(os_index);
  }
  SHOAL_CHECK(!cores_.empty(), "hwloc shows no PU that this process may use");
}

std::vector<PuSet> Topology::place(int first_worker, int worker_count, int total_workers,
                                   Pin pin) const {
  SHOAL_CHECK(
      first_worker >= 0 && worker_count >= 0 && first_worker <= total_workers - worker_count,
      "workers [{}, {}+{}) are not among the {} of this node", first_worker, first_worker,
      worker_count, total_workers);
  const bool whole_cores =
      pin == Pin::core && static_cast<std::size_t>(total_workers) <= cores_.size();
  std::vector<PuSet> placed;
  placed.reserve(static_cast<std::size_t>(worker_count));
  for (int worker = first_worker; worker < first_worker + worker_count; ++worker) {
    if (pin == Pin::none) {
      placed.emplace_back();
    } else if (whole_cores) {
      placed.push_back(cores_[unit_of(worker, total_workers, cores_.size())].pus);
    } else {
      placed.push_back(PuSet({pus_ordered_[unit_of(worker, total_workers, pus_ordered_.size())]}));
    }
  }
  return placed;
}

bool Topology::bind_current_thread(const PuSet& set) const {
  if (set.empty()) {
    return true;
  }
  return handle_->is_real_machine() &&
         hwloc_set_cpubind(handle_->topology, to_bitmap(set).get(), HWLOC_CPUBIND_THREAD) == 0;
}

int Topology::count_unbindable(std::span<const PuSet> sets) const {
  const PuSet before = current_thread_binding();
  const auto count = std::count_if(sets.begin(), sets.end(),
                                   [&](const PuSet& set) { return !bind_current_thread(set); });
  static_cast<void>(bind_current_thread(before));
  return static_cast<int>(count);
}

PuSet Topology::current_thread_binding() const {
  const Bitmap bitmap = make_bitmap();
  if (!handle_->is_real_machine() ||
      hwloc_get_cpubind(handle_->topology, bitmap.get(), HWLOC_CPUBIND_THREAD) != 0) {
    return {};
  }
  return to_pu_set(bitmap.get());
}

Location Topology::locate(const PuSet& set) const {
  hwloc_topology_t topology = handle_->topology;
  const int wanted = set.empty() ? pus_ordered_.front() : set.indices().front();
  const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(wanted));
  if (pu == nullptr) return {};
  // On a machine without NUMA nodes, hwloc shows one.
  hwloc_obj_t numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, nullptr);
  while (numa != nullptr && hwloc_bitmap_isset(numa->cpuset, pu->os_index) == 0) {
    numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa);
  }
  return {package_of(topology, pu), numa == nullptr ? 0 : static_cast<int>(numa->logical_index)};
}

int Topology::memory_node_of(const PuSet& set) const {
  if (set.empty()) return -1;
  const int node = locate(set).numa;
  const auto is_elsewhere = [&](int pu) { return locate(PuSet({pu})).numa != node; };
  return std::ranges::any_of(set.indices(), is_elsewhere) ? -1 : node;
}

std::vector<int> Topology::numa_nodes_from(const PuSet& set) const {
  hwloc_topology_t topology = handle_->topology;
  const int home = locate(set).package;
  std::vector<int> near;
  std::vector<int> far;
  hwloc_obj_t numa = nullptr;
  while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa)) != nullptr) {
    const int first_pu = hwloc_bitmap_first(numa->cpuset);
    // Memory without processors (high-bandwidth memory, say) is local to no package.
    const hwloc_obj_t pu =
        first_pu < 0 ? nullptr
                     : hwloc_get_pu_obj_by_os_index(topology, static_cast<unsigned>(first_pu));
    const bool is_near = pu != nullptr && package_of(topology, pu) == home;
    (is_near ? near : far).push_back(static_cast<int>(numa->logical_index));
  }
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

bool Topology::bind_memory(std::span<std::byte> buffer, int numa) const {
  const hwloc_obj_t node =
      hwloc_get_obj_by_type(handle_->topology, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(numa));
  if (!handle_->is_real_machine() || node == nullptr) return false;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* first = buffer.data();
  std::size_t left_bytes = buffer.size();
  if (std::align(page_bytes, page_bytes, first, left_bytes) == nullptr) return true;  // no page
  return hwloc_set_area_membind(handle_->topology, first, left_bytes / page_bytes * page_bytes,
                                node->nodeset, HWLOC_MEMBIND_BIND,
                                HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE) == 0;
}

std::string Topology::describe(const PuSet& set) const {
  if (set.empty()) {
    return "not bound";
  }
  std::string cores;
  int package = -1;
  for (const Core& core : cores_) {
    if (core.pus.common_with(set).empty()) {
      continue;
    }
    if (core.package != package) {
      cores += fmt::format("package {} core {} ", core.package, core.index);
    } else {
      cores.back() = ',';
      cores += fmt::format("{} ", core.index);
    }
    package = core.package;
  }
  return fmt::format("{}(PU {})", cores, set.to_string());
}

std::string overlap_warning(std::span<const WorkerPlacement> placements) {
  std::map<int, std::vector<std::size_t>> workers_on;  // PU -> places of workers
  for (std::size_t i = 0; i < placements.size(); ++i) {
    for (const int pu : placements[i].pus.indices()) workers_on[pu].push_back(i);
  }
  std::set<std::size_t> sharing;
  std::set<int> ranks;
  std::vector<int> pus;
  for (const auto& [pu, workers] : workers_on) {
    if (workers.size() < 2) continue;
    pus.push_back(pu);
    sharing.insert(workers.begin(), workers.end());
  }
  if (sharing.empty()) return "";
  for (const std::size_t worker : sharing) ranks.insert(placements[worker].rank);
  const std::string of = *ranks.begin() == *ranks.rbegin()
                             ? fmt::format("rank {}", *ranks.begin())
                             : fmt::format("ranks {} to {}", *ranks.begin(), *ranks.rbegin());
  return fmt::format(
      "{} of {} workers on this node, those of {}, are bound to the same processors as others (PU "
      "{}) and slow each other down: use fewer --workers or --ranks, use --pin none, or let the "
      "launcher give each process its own cores (mpirun --bind-to core --map-by slot:PE=<workers>, "
      "srun --cpus-per-task=<workers>)",
      sharing.size(), placements.size(), of, PuSet(pus).to_string());
}

}  // namespace shoal::env
