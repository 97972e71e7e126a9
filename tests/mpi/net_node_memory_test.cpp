// Packets between processes of a node, through memory that they share. The program has initialized
// MPI.

#include "mpi/transport_harness.hpp"

#include <fmt/core.h>

#include <array>
#include <cerrno>

#include "net/mpi/mpi_engine.hpp"
#include "support/joined_program.hpp"

#include <algorithm>
#include <deque>

namespace shoal::net::test {
namespace net_node_memory_test {

void who_is_near_is_said_alike_by_both() {
  const auto env = env::make_thread_env();
  const MpiOptions options = with_near({}, *env);
  MpiSession session(options);
  MpiNodeMemory node(session, options.node_processes);
  const int self = world_process();
  int near = 0;
  for (int other = 0; other < world_processes(); ++other) {
    // All run on one node, and are grouped in their order.
    const bool expected =
        other != self && other / options.node_processes == self / options.node_processes;
    require(node.is_near(other) == expected, "process {} is {}near to {}", other,
            expected ? "not " : "", self);
    near += expected ? 1 : 0;
  }
  require(node.all_are_near() == (near + 1 == world_processes()), "all are near, or not all");
  session.close();
}

Packet* packet_of(int source, int target, std::uint32_t lane, std::uint64_t number,
                  std::size_t size) {
  Packet* const packet = Packet::create(Packet::bytes_at_most({0, 0, size}));
  packet->header().lane = lane;
  packet->header().source = source;
  packet->header().target = target;
  const std::span<std::byte> arguments = packet->add_message({99, 2, size});
  for (std::size_t i = 0; i < size; ++i) arguments[i] = pattern(number, i);
  return packet;
}

/// Each process fills the memory towards the next near one, while no process reads.
void packets_come_as_they_were_until_there_is_no_room() {
  const auto env = env::make_thread_env();
  const MpiOptions options = with_near({}, *env);
  MpiSession session(options);
  MpiNodeMemory node(session, options.node_processes);
  const int self = world_process();
  const int group = self / options.node_processes * options.node_processes;
  const int size = std::min(options.node_processes, world_processes() - group);
  const int to = group + (self - group + 1) % size;
  const int from = group + (self - group + size - 1) % size;
  const auto size_of = [](std::uint64_t i) { return static_cast<std::size_t>(8 + i * 37 % 900); };
  const auto send = [&](std::uint64_t i) {
    const PacketHolder packet(packet_of(self, to, 1, i, size_of(i)));
    return node.try_send(to, *packet);
  };
  std::uint64_t count = 0;
  if (size > 1) {
    while (send(count)) ++count;
    require(count > 50, "room for {} packets only", count);
  }
  barrier_of_launch();
  for (std::uint64_t i = 0; i < count; ++i) {
    int process = -1;
    const PacketHolder packet(node.try_receive(1, process));
    require(packet != nullptr && process == from, "packet {} came from {}", i, process);
    const PacketHolder expected(packet_of(from, self, 1, i, size_of(i)));
    const PacketHeader& header = packet->header();
    require(header.source == from && header.target == self && header.lane == 1 &&
                header.message_count == 1,
            "packet {} has another header", i);
    const auto messages = packet->messages();
    const auto due = expected->messages();
    require(
        messages.size() == due.size() && std::memcmp(messages.data(), due.data(), due.size()) == 0,
        "packet {} differs", i);
  }
  int process = -1;
  require(node.try_receive(3, process) == nullptr, "more packets came than were sent");
  barrier_of_launch();
  if (count > 0) require(send(0), "no room though all was read");
  session.close();
}

/// Record that the engine of the next process must refuse.
void is_refused(int source, int target, std::uint32_t lane, const std::string& expected) {
  if (world_processes() == 1) return;
  const auto env = env::make_thread_env();
  const MpiOptions options = with_near({}, *env);
  MpiSession session(options);
  MpiNodeMemory node(session, options.node_processes);
  const int to = session.process() ^ 1;
  if (!node.is_near(to)) return session.close();
  MpiWindow window(session, false);
  MpiEngine engine(session, node, window, options);
  Fabric fabric(session.layout(), options.link, nullptr);
  engine.attach(fabric);
  const PacketHolder packet(packet_of(source, target, lane, 0, 16));
  require(node.try_send(to, *packet), "no room for the first packet");
  while (!engine.has_failed()) engine.advance();
  const std::string text =
      text_thrown_by<TransportError>("a wrong packet", [&] { engine.rethrow_failure(); });
  require_contains(text, expected);
  barrier_of_launch();
}

void packets_between_other_ranks_are_refused() {
  const int self = world_process();
  const int other = self ^ 1;
  is_refused(other, other, 0, "between other ranks");
  is_refused(self, 1000, 0, "between other ranks");
  is_refused(self, other, 7, "between other ranks");
  is_refused(self, other, kEngineLane, "an unknown message of the engine");
}

// Even processes send, odd ones do not look: several times what the memory takes, each message in a
// packet of its own, and one of them too large for it. Control packets are never held back.
void what_finds_no_room_waits_and_comes_in_order() {
  Node node({});
  constexpr std::uint64_t kMessages = 400;
  const int partner = node.process() ^ 1;
  const bool has_partner = partner < node.layout().process_count();
  for (std::uint64_t i = 0; has_partner && node.process() % 2 == 0 && i < kMessages; ++i) {
    const std::size_t size = i == kMessages / 2 ? MpiNodeMemory::kMessagesMaxBytes : 2000;
    node.send(node.local(), Rank(partner), Lane::control, size);
    node.transport().poll(true, nullptr);
  }
  barrier_of_launch();
  if (has_partner && node.process() % 2 != 0) {
    node.pump_until([&] { return node.received() == kMessages; });
  }
  node.finish();
}

/// As the system, but in one process.
struct Failing {
  static inline int process = 0;
  static int no_memory(std::size_t) {
    errno = ENOMEM;
    return -1;
  }
  static void* not_here(int id) {
    if (world_process() != process) return SegmentCalls::of_system().attach(id);
    errno = EACCES;
    return nullptr;
  }
  static void* another_one(int id) {
    void* const memory = SegmentCalls::of_system().attach(id);
    if (world_process() != process) return memory;
    alignas(64) static std::array<std::byte, 64> other{};
    return other.data();
  }
};

/// No process is near, one process reports the reason, and the next transport of the same processes
/// has memory.
void without_memory_nobody_is_near(const SegmentCalls& calls, int failing, const char* problem) {
  const auto env = env::make_thread_env();
  const MpiOptions options = with_near({}, *env);
  const int group = failing / options.node_processes;
  const bool has_group = group * options.node_processes + 1 < world_processes();
  if (failing >= world_processes() || options.node_processes == 1 || !has_group) return;
  Failing::process = failing;
  MpiSession session(options);
  const MpiNodeMemory node(session, options.node_processes, calls);
  if (world_process() / options.node_processes == group) {
    require(node.near_count() == 0, "{} processes are near", node.near_count());
  }
  if (world_process() == failing) {
    require(session.notes().size() == 1, "{} notes", session.notes().size());
    require_contains(session.notes().front(), "share no memory");
    require_contains(session.notes().front(), problem);
  } else if (world_process() / options.node_processes == group) {
    require(session.notes().empty(), "another process says it, too");
  }
  session.close();
  who_is_near_is_said_alike_by_both();
}

void a_failure_in_one_process_is_heard_by_all() {
  const SegmentCalls system = SegmentCalls::of_system();
  without_memory_nobody_is_near({&Failing::no_memory, system.attach}, 0, "Cannot allocate memory");
  without_memory_nobody_is_near({system.create, &Failing::not_here}, 0, "Permission denied");
  without_memory_nobody_is_near({system.create, &Failing::not_here}, 1, "Permission denied");
  without_memory_nobody_is_near({system.create, &Failing::another_one}, 1, "IPC namespaces");
}

/// The memory of the node as the last call has attached it.
void* g_attached = nullptr;

/// A stray write leads to an error that names both processes, not to a crash.
void damaged_marks_are_refused(unsigned char value) {
  if (world_processes() == 1) return;
  const auto env = env::make_thread_env();
  const MpiOptions options = with_near({}, *env);
  MpiSession session(options);
  SegmentCalls calls = SegmentCalls::of_system();
  calls.attach = [](int id) { return g_attached = SegmentCalls::of_system().attach(id); };
  MpiNodeMemory node(session, options.node_processes, calls);
  barrier_of_launch();
  if (node.near_count() > 0) {
    const auto count = static_cast<std::size_t>(node.near_count()) + 1;
    std::memset(g_attached, value, count * count * sizeof(sync::RecordRing));
    int from = 0;
    const std::string text = text_thrown_by<TransportError>(
        "a damaged mark", [&] { PacketHolder(node.try_receive(1, from)); });
    require_contains(text, "damaged memory between process");
    require_contains(text, fmt::format("process {}", world_process()));
  }
  barrier_of_launch();
  session.close();
}

/// Process 0 has received them and waits for packets only, while the others still wait to hear that
/// their payloads were received.
void senders_of_payloads_hear_of_their_end_meanwhile() {
  Node node({});
  constexpr std::size_t kCount = 3000;
  const int others = node.layout().process_count() - 1;
  const Rank receiver(0);
  std::vector<std::uint64_t> words(kCount * static_cast<std::size_t>(std::max(1, others)), 7);
  std::deque<FlagEvent> ended(words.size());
  const auto place = [&](std::size_t i) { return std::as_writable_bytes(std::span(&words[i], 1)); };
  const auto all_ended = [&](std::size_t count) {
    return std::all_of(ended.begin(), ended.begin() + static_cast<std::ptrdiff_t>(count),
                       [](const FlagEvent& e) { return e.ran; });
  };
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint32_t tag = node.transport().new_payload_tag();
    if (node.process() != 0) {
      node.transport().send_payload(node.local(), receiver, tag, place(i), &ended[i]);
      continue;
    }
    for (int other = 0; other < others; ++other) {
      const std::size_t at = i * static_cast<std::size_t>(others) + static_cast<std::size_t>(other);
      node.transport().receive_payload(Rank(other + 1), receiver, tag, place(at), &ended[at]);
    }
  }
  if (node.process() == 0) {
    node.pump_until([&] { return all_ended(kCount * static_cast<std::size_t>(others)); });
    node.pump_until([&] { return node.received() == static_cast<std::uint64_t>(others); });
  } else {
    node.pump_until([&] { return all_ended(kCount); });
    node.send(node.local(), receiver, Lane::control, 8);
  }
  node.finish();
}

/// To process 0, by process 1, which is near, and by process 2, which is not.
void what_is_far_has_its_turn() {
  Node node({});
  constexpr std::uint64_t kMessages = 100;
  const Rank to(0);
  const bool takes_part = node.layout().process_count() > 2 && world_processes() > 2 &&
                          with_near({}, node.env()).node_processes == 2;
  if (!takes_part) return node.finish();
  for (std::uint64_t i = 0; node.process() == 1 && i < kMessages; ++i) {
    node.send(node.local(), to, Lane::normal, 8);
    node.transport().poll(true, nullptr);  // a packet each
  }
  if (node.process() == 2) {
    node.send(node.local(), to, Lane::control, 8);
    node.transport().poll(true, nullptr);
  }
  barrier_of_launch();
  Recorder& recorder = node.recorder();
  while (node.process() == 0 && recorder.control_messages == 0) {
    DirectArrivals direct{&node.fabric().port(to), 2, {}};
    node.transport().poll(true, &direct);
    while (Packet* packet = direct.packets.pop_front()) recorder.on_packet(packet);
    require(recorder.messages < kMessages, "all that is near came first");
  }
  barrier_of_launch();
  const std::uint64_t due = node.process() == 0 ? kMessages + 1 : 0;
  node.pump_until([&] { return node.received() == due && node.all_acknowledged(); });
  node.finish();
}

void different_numbers_of_near_processes_are_refused() {
  if (world_processes() == 1) return;
  const auto env = env::make_thread_env();
  MpiOptions options;
  options.env = env.get();
  options.node_processes = world_process() == 0 ? 3 : 2;
  const std::string text =
      text_thrown_by<ConfigError>("different numbers", [&] { make_mpi_transport(options); });
  require_contains(text, "--node-processes");
  require_contains(text, ": 3 on ");
  require_contains(text, "; 2 on ");
}

// Usage: net_node_memory_test [PART OF A CASE'S NAME]
int run_all(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       SHOAL_CASE(who_is_near_is_said_alike_by_both()),
                       SHOAL_CASE(packets_come_as_they_were_until_there_is_no_room()),
                       SHOAL_CASE(what_finds_no_room_waits_and_comes_in_order()),
                       SHOAL_CASE(a_failure_in_one_process_is_heard_by_all()),
                       SHOAL_CASE(damaged_marks_are_refused(0x7F)),
                       SHOAL_CASE(damaged_marks_are_refused(0xFF)),
                       SHOAL_CASE(damaged_marks_are_refused(0x01)),
                       SHOAL_CASE(senders_of_payloads_hear_of_their_end_meanwhile()),
                       SHOAL_CASE(what_is_far_has_its_turn()),
                       SHOAL_CASE(different_numbers_of_near_processes_are_refused()),
                       SHOAL_CASE(packets_between_other_ranks_are_refused()),
                   });
}

const shoal::testing::JoinedProgram kProgram("net_node_memory_test", &run_all);

}  // namespace net_node_memory_test
}  // namespace shoal::net::test
