#include "contention/plan.hpp"

#include <algorithm>
#include <set>

#include "contention/selection.hpp"

namespace contention {
namespace {

constexpr std::uint64_t kLatencyBytes = 4;

/// Collects points, each once.
class Planner {
 public:
  Planner(const Machine& machine, const Extent& extent, bool with_mpi)
      : machine_(machine), extent_(extent), with_mpi_(with_mpi) {}

  std::vector<Point> make() {
    add_placements();
    add_cores();
    add_sizes();
    add_intensity();
    add_threads();
    add_polling();
    return std::move(points_);
  }

 private:
  void add(const Point& point) {
    if (known_.insert(point).second) points_.push_back(point);
  }

  static Point computing(Kernel kernel, int cores, int work = 1, int node = 0) {
    Point point;
    point.kernel = kernel;
    point.work = work;
    point.cores = cores;
    point.computation_node = node;
    return point;
  }

  [[nodiscard]] Point communicating(Channel channel, Traffic traffic, std::uint64_t bytes) const {
    Point point;
    point.channel = channel;
    point.traffic = traffic;
    point.message_bytes = bytes;
    point.thread_node = extent_.thread_node;
    return point;
  }

  /// Both alone, and together.
  void add_both(const Point& computation, const Point& communication) {
    if (!with_mpi_) add(computation);
    add(communication);
    Point both = communication;
    both.kernel = computation.kernel;
    both.work = computation.work;
    both.cores = computation.cores;
    both.computation_node = computation.computation_node;
    add(both);
  }

  /// Reads of the peer's global memory.
  void add_gets(const Point& computation, std::uint64_t bytes) {
    if (!with_mpi_) add_both(computation, communicating(Channel::memory, Traffic::receive, bytes));
  }

  /// Large messages to the machine.
  [[nodiscard]] Point bandwidth() const {
    return communicating(with_mpi_ ? Channel::mpi : Channel::large, Traffic::receive,
                         extent_.message_bytes_max);
  }
  /// Round trips of few bytes.
  [[nodiscard]] Point latency() const {
    return communicating(with_mpi_ ? Channel::mpi : Channel::small, Traffic::ping_pong,
                         kLatencyBytes);
  }

  /// For the model.
  void add_placements() {
    const std::vector<Placement> samples = samples_of(machine_.nodes, machine_.nodes_per_socket);
    for (int computation = 0; computation < machine_.nodes; ++computation) {
      for (int communication = 0; communication < machine_.nodes; ++communication) {
        const Placement placement{computation, communication};
        if (extent_.quick && std::ranges::find(samples, placement) == samples.end()) continue;
        Point messages = bandwidth();
        messages.communication_node = communication;
        for (int cores = 1; cores <= machine_.cores; ++cores) {
          add_both(computing(Kernel::fill, cores, 1, computation), messages);
        }
      }
    }
  }

  void add_cores() {
    std::vector<Kernel> kernels{Kernel::triad, Kernel::primes};
    if (!extent_.quick) kernels.push_back(Kernel::copy);
    for (const Kernel kernel : kernels) {
      for (int cores = 1; cores <= machine_.cores; ++cores) {
        add_both(computing(kernel, cores), bandwidth());
        add_both(computing(kernel, cores), latency());
        if (kernel == Kernel::triad) add_gets(computing(kernel, cores), extent_.message_bytes_max);
      }
    }
  }

  void add_sizes() {
    const std::set<int> numbers = extent_.quick
                                      ? std::set<int>{machine_.cores}
                                      : std::set<int>{std::min(5, machine_.cores), machine_.cores};
    for (const int cores : numbers) {
      for (std::uint64_t bytes = kLatencyBytes; bytes <= extent_.message_bytes_max;
           bytes *= extent_.quick ? 16 : 4) {
        const Point computation = computing(Kernel::triad, cores);
        if (with_mpi_) {
          add_both(computation, communicating(Channel::mpi, Traffic::ping_pong, bytes));
          continue;
        }
        add_both(computation, communicating(Channel::large, Traffic::ping_pong, bytes));
        add_gets(computation, bytes);
        if (bytes > kSmallBytesMax) continue;
        add_both(computation, communicating(Channel::small, Traffic::ping_pong, bytes));
      }
    }
  }

  void add_intensity() {
    for (int work = 1; work <= 1024; work *= extent_.quick ? 8 : 2) {
      add_both(computing(Kernel::triad, machine_.cores, work), bandwidth());
      add_both(computing(Kernel::triad, machine_.cores, work), latency());
    }
  }

  void add_threads() {
    for (int node = 0; node < machine_.nodes; ++node) {
      const bool is_first = node % machine_.nodes_per_socket == 0;  // of its socket
      if (!is_first && extent_.quick) continue;
      for (int cores = extent_.quick ? machine_.cores : 1; cores <= machine_.cores; ++cores) {
        for (Point messages : {latency(), bandwidth()}) {
          messages.thread_node = node;
          add_both(computing(Kernel::triad, cores), messages);
        }
      }
    }
  }

  void add_polling() {
    for (const int pauses : {2, 32, 1000, 10000}) {
      add_both(computing(Kernel::poll, machine_.cores, pauses), latency());
    }
  }

  const Machine& machine_;
  const Extent& extent_;
  const bool with_mpi_;
  std::vector<Point> points_;
  std::set<Point> known_;
};

}  // namespace

std::vector<Point> plan_of(const Machine& machine, const Extent& extent, bool with_mpi) {
  return Planner(machine, extent, with_mpi).make();
}

}  // namespace contention
