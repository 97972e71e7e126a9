#pragma once
// Shared by the tests of the transport over MPI: checks that end the whole job, and one process's
// end of a transport with a recorder behind each of its ranks.

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "mpi/mpi_launch.hpp"
#include "net/mpi/mpi_lifetime.hpp"
#include "net/mpi_transport.hpp"

namespace shoal::net::test {

using testing::barrier_of_launch;

inline int world_process() { return testing::process_of_launch(); }
inline int world_processes() { return testing::processes_of_launch(); }

/// The MPI that this program links, as the library uses it.
inline const MpiTable& mpi_table() { return MpiLifetime::of_process().load({}); }

/// Says what went wrong and ends the job with exit code 1.
[[noreturn]] inline void fail(const std::string& text) {
  fmt::print(stderr, "process {}: FAILED: {}\n", world_process(), text);
  std::fflush(nullptr);
  testing::abort_launch();
  std::_Exit(1);
}

template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) fail(fmt::format(format, std::forward<Args>(args)...));
}

/// Runs `call` and returns the text of the Expected that it must throw.
template <class Expected, class Call>
std::string text_thrown_by(const char* what, Call&& call) {
  try {
    call();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    fail(fmt::format("{}: threw something else: {}", what, error.what()));
  }
  fail(fmt::format("{}: did not throw", what));
}

inline void require_contains(const std::string& text, const std::string& part) {
  require(text.find(part) != std::string::npos, "expected \"{}\" in \"{}\"", part, text);
}

/// Arguments of every test message; `fill_bytes` of a known pattern follow.
struct TestMessage {
  std::uint64_t index;  // in its lane
  std::uint64_t fill_bytes;
};

inline std::byte pattern(std::uint64_t index, std::uint64_t at) {
  return static_cast<std::byte>((index * 131 + at * 7 + (at >> 8)) & 0xFF);
}

/// Checks order and content of what a rank receives; can keep packets, like a receiver that is
/// slow.
class Recorder final {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() { release_all(); }

  void on_packet(Packet* packet) {
    const PacketHeader& header = packet->header();
    std::size_t at = 0;
    Run run;
    while (at < header.size_bytes && read_run(packet->messages(), at, run)) {
      for (std::uint64_t i = 0; i < run.count; ++i, at += run.step()) {
        check_message(*packet, run.size_bytes, at);
      }
    }
    require(at == header.size_bytes, "packet of {} bytes ends after {}", header.size_bytes, at);
    ++packets;
    kept_bytes_ += header.size_bytes;
    peak_kept_bytes = std::max(peak_kept_bytes, kept_bytes_);
    kept_.push_back(packet);
    if (!keep) release_all();
  }

  bool release_one() {
    if (kept_.empty()) return false;
    Packet* const packet = kept_.front();
    kept_.pop_front();
    kept_bytes_ -= packet->header().size_bytes;
    packet->release();
    return true;
  }
  void release_all() {
    while (release_one()) {
    }
  }

  bool keep = false;
  std::uint64_t packets = 0;
  std::uint64_t messages = 0;
  std::uint64_t control_messages = 0;
  std::size_t peak_kept_bytes = 0;

 private:
  void check_message(Packet& packet, std::uint64_t size_bytes, std::size_t at) {
    TestMessage arguments{};
    const std::byte* bytes = packet.body() + at;
    std::memcpy(&arguments, bytes, sizeof arguments);
    const PacketHeader& header = packet.header();
    std::uint64_t& due = next_index_[{header.source, header.lane}];
    require(arguments.index == due, "rank {}: message {} of rank {}, lane {} came where {} was due",
            header.target, arguments.index, header.source, header.lane, due);
    require(size_bytes == sizeof arguments + arguments.fill_bytes,
            "message of {} bytes with {} bytes of fill", size_bytes, arguments.fill_bytes);
    for (std::uint64_t i = 0; i < arguments.fill_bytes; ++i) {
      require(bytes[sizeof arguments + i] == pattern(arguments.index, i),
              "rank {}: message {} of rank {}: byte {} is wrong", header.target, arguments.index,
              header.source, i);
    }
    ++due;
    ++messages;
    if (header.lane == static_cast<std::uint32_t>(Lane::control)) ++control_messages;
  }

  std::map<std::pair<int, std::uint32_t>, std::uint64_t> next_index_;
  std::deque<Packet*> kept_;
  std::size_t kept_bytes_ = 0;
};

/// As many processes share memory as the launch says; without a word, all.
inline MpiOptions with_near(MpiOptions options, env::Env& env) {
  options.env = &env;
  if (const char* const near = std::getenv("SHOAL_NODE_PROCESSES"); near != nullptr) {
    options.node_processes = std::atoi(near);
  }
  return options;
}

/// One process: its transport, fabric, and a recorder for each rank.
class Node {
 public:
  explicit Node(MpiOptions options) : env_(env::make_thread_env()) {
    options = with_near(options, *env_);
    transport_ = make_mpi_transport(options);
    fabric_ = std::make_unique<Fabric>(transport_->layout(), options.link, transport_.get());
    recorders_.resize(static_cast<std::size_t>(layout().ranks_per_process));
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  MpiTransport& transport() { return *transport_; }
  Fabric& fabric() { return *fabric_; }
  env::Env& env() { return *env_; }
  Layout layout() const { return transport_->layout(); }
  int process() const { return layout().process; }
  /// The i-th rank of this process.
  Rank local(int i = 0) const { return Rank(layout().first_local() + i); }
  Recorder& recorder(int i = 0) { return recorders_[static_cast<std::size_t>(i)]; }

  /// Sends the next message of a lane, filled with `fill_bytes` of the pattern.
  void send(Rank source, Rank target, Lane lane, std::size_t fill_bytes) {
    append(source, target, lane, sent_[{source, target, static_cast<int>(lane)}]++, fill_bytes);
  }
  /// The same for many threads, which count for themselves.
  void append(Rank source, Rank target, Lane lane, std::uint64_t index, std::size_t fill_bytes) {
    const TestMessage arguments{index, fill_bytes};
    const MessageHeader header{1, 2, sizeof arguments + fill_bytes};
    fabric_->link(source, target, lane).append(header, 0, [&](std::span<std::byte> bytes) {
      std::memcpy(bytes.data(), &arguments, sizeof arguments);
      for (std::size_t i = 0; i < fill_bytes; ++i) {
        bytes[sizeof arguments + i] = pattern(arguments.index, i);
      }
    });
  }

  bool deliver() {
    bool any = false;
    for (int i = 0; i < layout().ranks_per_process; ++i) {
      while (PortItem* item = fabric_->port(local(i)).try_take()) {
        PacketList packets = item->take_arrivals();
        while (Packet* const packet = packets.pop_front()) recorder(i).on_packet(packet);
        any = true;
      }
    }
    return any;
  }
  /// By turns as the progress of one of the ranks, to which packets come past the port, and as
  /// another thread. Now and then what is in the ports stays there, older than what comes next.
  bool pump() {
    const unsigned turn = turns_++;
    const int rank = static_cast<int>(turn / 2) % layout().ranks_per_process;
    DirectArrivals direct{&fabric_->port(local(rank)), 2, {}};
    const bool worked = transport_->poll(true, turn % 2 == 0 ? &direct : nullptr);
    while (Packet* packet = direct.packets.pop_front()) recorder(rank).on_packet(packet);
    if (turn % 8 == 7) return worked;
    return deliver() || worked;
  }
  template <class Done>
  void pump_until(Done&& done) {
    for (int idle = 0; !done();) {
      if (pump()) {
        idle = 0;
      } else if (++idle < kIdleTurns) {
        env_->yield();
      } else {
        parker_->park(kRestNs);
      }
    }
  }
  std::uint64_t received() {
    std::uint64_t sum = 0;
    for (const Recorder& recorder : recorders_) sum += recorder.messages;
    return sum;
  }
  /// Everything this process has sent was consumed at its target, and the sender knows.
  bool all_acknowledged() {
    for (const auto& entry : sent_) {
      const auto& [source, target, lane] = entry.first;
      if (fabric_->link(source, target, static_cast<Lane>(lane)).in_flight_bytes() != 0)
        return false;
    }
    return true;
  }
  /// Ends in an orderly way.
  void finish() { transport_->finish(); }

 private:
  // 8 processes share 2 processors: those that find nothing leave them to the others.
  static constexpr int kIdleTurns = 64;
  static constexpr std::uint64_t kRestNs = 50'000;

  std::unique_ptr<env::Env> env_;
  std::unique_ptr<env::Parker> parker_{env_->make_parker()};
  std::unique_ptr<MpiTransport> transport_;
  std::unique_ptr<Fabric> fabric_;
  std::map<std::tuple<Rank, Rank, int>, std::uint64_t> sent_;  // by source, target and lane
  unsigned turns_ = 0;                                         // of pump()
  std::deque<Recorder> recorders_;  // goes first: kept packets report to links and transport
};

/// Sets its flag when it is delivered.
class FlagEvent final : public Completion {
 public:
  void run() override { ran = true; }
  bool ran = false;
};

/// The rank with the same place in the next process.
inline Rank next_process(const Node& node, Rank rank) {
  return Rank((rank + node.layout().ranks_per_process) % node.layout().world_size);
}

inline constexpr std::uint64_t kSeed = 20240607;

/// Every rank sends `messages` to every rank, each `every`-th with up to `fill_max` bytes, until
/// all have come and been acknowledged.
inline void all_pairs(MpiOptions options, int messages, std::size_t fill_max, int every) {
  Node node(options);
  std::mt19937_64 random(kSeed + static_cast<std::uint64_t>(node.process()));
  const Layout layout = node.layout();
  std::uint64_t due = 0;
  for (int i = 0; i < messages; ++i) {
    for (int source = 0; source < layout.ranks_per_process; ++source) {
      for (int target = 0; target < layout.world_size; ++target) {
        const Lane lane = random() % 4 == 0 ? Lane::control : Lane::normal;
        const std::size_t fill = i % every == 0 ? random() % fill_max : random() % 200;
        node.send(node.local(source), Rank(target), lane, fill);
      }
    }
    if (i % 3 == 0) node.pump();
    due += static_cast<std::uint64_t>(layout.world_size * layout.ranks_per_process);
  }
  node.pump_until([&] { return node.received() >= due && node.all_acknowledged(); });
  require(node.received() == due, "{} messages arrived, {} were sent", node.received(), due);
  node.finish();
}

/// A case named by the call that it is.
#define SHOAL_CASE(...)               \
  {                                   \
    #__VA_ARGS__, [] { __VA_ARGS__; } \
  }

struct Case {
  const char* name;
  std::function<void()> run;
  bool on_request = false;  // too large for every machine: runs when named
};

/// Runs the cases whose names contain the program's first argument, in a program that has
/// initialized MPI itself, as main() would; says how long each took.
inline int run_cases(int argc, char** argv, const std::vector<Case>& cases) {
  require(testing::init_launch(argc, argv, SHOAL_MPI_MULTIPLE), "not MPI_THREAD_MULTIPLE");
  // Some MPIs raise errors of MPI_Test here; the default would end the job with MPI's own message.
  testing::return_errors_of_launch();
  const bool speaks = world_process() == 0;
  if (speaks) fmt::print("{}, seed {}\n", mpi_library(), kSeed);
  const std::string filter = argc > 1 ? argv[1] : "";
  const auto env = env::make_thread_env();
  for (const Case& test_case : cases) {
    if (std::string(test_case.name).find(filter) == std::string::npos) continue;
    if (filter.empty() && test_case.on_request) continue;
    const std::uint64_t begin_ns = env->now_ns();
    try {
      test_case.run();
    } catch (const std::exception& error) {
      fail(fmt::format("{}: uncaught: {}", test_case.name, error.what()));
    }
    barrier_of_launch();
    const auto took_ms = (env->now_ns() - begin_ns) / 1'000'000;
    if (speaks) fmt::print("{:6} ms  {}\n", took_ms, test_case.name);
    std::fflush(stdout);
  }
  require(!testing::launch_is_finalized(),
          "the transport finalized an MPI that it had not initialized");
  testing::finalize_launch();
  return 0;
}

}  // namespace shoal::net::test
