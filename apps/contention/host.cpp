#include "contention/host.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <locale>
#include <set>

#include "common/input_error.hpp"

namespace contention {

using apps::InputError;

/// Owner of the hwloc topology.
struct Host::Topology {
  Topology() {
    if (hwloc_topology_init(&handle) != 0) throw InputError("hwloc could not start");
  }
  ~Topology() { hwloc_topology_destroy(handle); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  void load() const {
    if (hwloc_topology_load(handle) == 0) return;
    throw InputError("hwloc could not read the topology of this machine; lstopo may show why");
  }
  [[nodiscard]] bool is_this_machine() const { return hwloc_topology_is_thissystem(handle) != 0; }

  hwloc_topology_t handle = nullptr;
};

namespace {

/// Bits of processors or nodes.
class Bitmap {
 public:
  Bitmap() : bits_(hwloc_bitmap_alloc()) {}
  ~Bitmap() { hwloc_bitmap_free(bits_); }
  Bitmap(const Bitmap&) = delete;
  Bitmap& operator=(const Bitmap&) = delete;
  [[nodiscard]] hwloc_bitmap_t get() const { return bits_; }

 private:
  hwloc_bitmap_t bits_;
};

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string processor_name(hwloc_topology_t topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* const model =
      package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  return model == nullptr ? "unknown" : model;
}

std::string frequency_path(int pu) {
  return fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", pu);
}

}  // namespace

Host::Host(Peer peer) : topology_(std::make_unique<Topology>()), peer_(peer) {
  topology_->load();
  look();
}

Host::Host(const std::string& synthetic, Peer peer)
    : topology_(std::make_unique<Topology>()), peer_(peer) {
  if (hwloc_topology_set_synthetic(topology_->handle, synthetic.c_str()) != 0) {
    throw InputError(fmt::format("hwloc refuses the synthetic topology '{}'", synthetic));
  }
  topology_->load();
  look();
}

Host::Host(Host&&) noexcept = default;
Host::~Host() = default;

void Host::look() {
  hwloc_topology_t topology = topology_->handle;
  const Bitmap allowed;
  hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  const Bitmap bound;  // by a launcher, say
  if (topology_->is_this_machine() &&
      hwloc_get_cpubind(topology, bound.get(), HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_bitmap_and(allowed.get(), allowed.get(), bound.get());
  }
  machine_.name = host_name();
  machine_.processor = processor_name(topology);
  machine_.nodes = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
  const int sockets = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
  machine_.nodes_per_socket = std::max(1, machine_.nodes / sockets);
  const int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (int i = 0; i < all; ++i) {
    const hwloc_obj_t core =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, core);
    const Bitmap usable;
    hwloc_bitmap_and(usable.get(), core->cpuset, allowed.get());
    if (hwloc_bitmap_iszero(usable.get()) != 0) continue;
    Core found;
    found.socket = package == nullptr ? 0 : static_cast<int>(package->logical_index);
    found.pu = hwloc_bitmap_first(usable.get());
    for (int node = 0; node < machine_.nodes; ++node) {
      const hwloc_obj_t memory =
          hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
      if (memory != nullptr && hwloc_bitmap_isset(memory->cpuset, static_cast<unsigned>(found.pu)))
        found.node = node;
    }
    cores_.push_back(found);
  }
  if (cores_.empty()) throw InputError("this process may use no core of the machine");
  const auto in_first = std::ranges::count(cores_, cores_.front().socket, &Core::socket);
  const auto elsewhere = std::ssize(cores_) - in_first;
  const int threads = peer_ == Peer::same_host ? 2 : 1;
  const auto taken = std::max<std::ptrdiff_t>(0, threads - elsewhere);
  machine_.cores = static_cast<int>(std::max<std::ptrdiff_t>(1, in_first - taken));
  if (static_cast<int>(cores_.size()) < all) {
    notes_.push_back(
        fmt::format("this process may use {} of {} cores; mpirun --bind-to none lets it use all",
                    cores_.size(), all));
  }
  write_notes();
}

void Host::write_notes() {
  if (machine_.nodes == 1) {
    notes_.emplace_back(
        "one NUMA node: the placement of data and of the communicating thread makes no difference");
  } else if (machine_.nodes == machine_.nodes_per_socket) {
    notes_.emplace_back("one socket: there are no remote accesses");
  }
  std::set<int> sockets;
  for (const Core& core : cores_) sockets.insert(core.socket);
  if (peer_ == Peer::same_host) {
    notes_.emplace_back(
        "sender and receiver on one host: messages are copies by its processor, not by a network "
        "interface");
  }
  const int threads = peer_ == Peer::same_host ? 2 : 1;
  if (static_cast<int>(cores_.size()) < machine_.cores + threads) {
    notes_.push_back(fmt::format(
        "{} {} for {} computing and {} communicating: they share cores, so that computation beside "
        "communication also loses time to it",
        cores_.size(), cores_.size() == 1 ? "core" : "cores", machine_.cores, threads));
  }
  if (!can_bind()) {
    notes_.emplace_back("threads cannot be bound to cores: measurements may vary more");
  }
  if (!core_mhz(0)) notes_.emplace_back("the system does not tell the frequency of cores");
#if !defined(__x86_64__)
  notes_.emplace_back("fill has no non-temporal stores on this processor: it goes through caches");
#endif
}

std::optional<int> Host::communication_core(int node, bool is_sender) const {
  int skip = is_sender ? 1 : 0;
  for (int core = static_cast<int>(cores_.size()) - 1; core >= 0; --core) {
    const bool is_free = core >= machine_.cores || cores_[0].socket != cores_.back().socket;
    if (!is_free) return std::nullopt;
    if (cores_[static_cast<std::size_t>(core)].node == node && skip-- == 0) return core;
  }
  return std::nullopt;
}

bool Host::bind_thread(std::optional<int> core) const {
  if (!topology_->is_this_machine()) return false;
  const Bitmap where;
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    if (core && static_cast<int>(i) != *core) continue;
    hwloc_bitmap_set(where.get(), static_cast<unsigned>(cores_[i].pu));
  }
  return hwloc_set_cpubind(topology_->handle, where.get(), HWLOC_CPUBIND_THREAD) == 0;
}

bool Host::can_bind() const {
  // Binding it to the same cores again changes nothing.
  const Bitmap bound;
  return topology_->is_this_machine() &&
         hwloc_get_cpubind(topology_->handle, bound.get(), HWLOC_CPUBIND_THREAD) == 0 &&
         hwloc_set_cpubind(topology_->handle, bound.get(), HWLOC_CPUBIND_THREAD) == 0;
}

std::vector<int> Host::socket_processors() const {
  std::vector<int> processors;
  if (!topology_->is_this_machine()) return processors;
  hwloc_obj_t package = nullptr;
  while ((package = hwloc_get_next_obj_by_type(topology_->handle, HWLOC_OBJ_PACKAGE, package)) !=
         nullptr) {
    processors.push_back(hwloc_bitmap_first(package->cpuset));
  }
  return processors;
}

std::optional<double> Host::core_mhz(int core) const {
  if (!topology_->is_this_machine()) return std::nullopt;
  std::ifstream file(frequency_path(cores_[static_cast<std::size_t>(core)].pu));
  file.imbue(std::locale::classic());
  double khz = 0;
  if (!(file >> khz) || khz <= 0) return std::nullopt;
  return khz / 1000;
}

Host::Memory Host::allocate(std::size_t size_bytes, int node) const {
  const hwloc_obj_t place =
      hwloc_get_obj_by_type(topology_->handle, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(node));
  // The system grants more than there is, and ends the program when that is used.
  const std::uint64_t there = place == nullptr ? 0 : place->attr->numanode.local_memory;
  if (there > 0 && size_bytes > there) {
    throw InputError(
        fmt::format("{} bytes of memory on NUMA node {}: it has {}", size_bytes, node, there));
  }
  const bool places = topology_->is_this_machine() && machine_.nodes > 1 && place != nullptr;
  void* const begin = places ? hwloc_alloc_membind(topology_->handle, size_bytes, place->nodeset,
                                                   HWLOC_MEMBIND_BIND,
                                                   HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT)
                             : hwloc_alloc(topology_->handle, size_bytes);
  if (begin == nullptr) {
    throw InputError(fmt::format("{} bytes of memory on NUMA node {}: {}", size_bytes, node,
                                 std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
  }
  std::memset(begin, 1, size_bytes);
  hwloc_topology_t topology = topology_->handle;
  return {std::shared_ptr<std::byte>(static_cast<std::byte*>(begin),
                                     [topology, size_bytes](std::byte* memory) {
                                       hwloc_free(topology, memory, size_bytes);
                                     }),
          size_bytes};
}

}  // namespace contention
