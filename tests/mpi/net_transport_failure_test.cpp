// How the transport over MPI fails: with an error that says what is wrong, and never by waiting.
// The program has initialized MPI.

#include "mpi/transport_harness.hpp"

#include <algorithm>
#include <deque>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_engine.hpp"
#include "support/joined_program.hpp"

namespace shoal::net::test {
namespace net_transport_failure_test {

/// Sends raw bytes where packets are expected; the engine of the next process must refuse them.
void raw_bytes_are_refused(const std::vector<std::byte>& bytes, const std::string& expected) {
  if (world_processes() == 1) return;
  const auto env = env::make_thread_env();
  MpiOptions options;
  options.env = env.get();
  options.node_processes = 1;  // else nothing is expected from MPI
  // Small, so that no message here needs a rendezvous: Open MPI 4.1 over TCP crashes in the
  // MPI_Irecv after one that was truncated.
  options.link.packet_bytes = 1024;
  MpiSession session(options);
  MpiNodeMemory node(session, options.node_processes);
  MpiWindow window(session, false);
  MpiEngine engine(session, node, window, options);
  Fabric fabric(session.layout(), options.link, nullptr);
  engine.attach(fabric);
  const MpiTable& mpi = session.mpi();
  MpiRequest request = mpi.request_null;
  const int to = (session.process() + 1) % session.layout().process_count();
  mpi.isend(bytes.data(), static_cast<int>(bytes.size()), to, kPacketTag, session.communicator(),
            &request);
  while (!engine.has_failed()) engine.advance();
  const std::string text =
      text_thrown_by<TransportError>("raw bytes", [&] { engine.rethrow_failure(); });
  require_contains(text, expected);
  int sent = 0;
  while (sent == 0) mpi.test(&request, &sent, nullptr);
}

std::vector<std::byte> wire_of(int source, int target, std::uint32_t lane, std::uint64_t sequence,
                               std::uint32_t handler = 99, std::byte fill = std::byte{0}) {
  Packet* const packet = Packet::create(64);
  packet->header().lane = lane;
  packet->header().source = source;
  packet->header().target = target;
  const std::span<std::byte> arguments = packet->add_message({handler, 2, 16});
  std::fill(arguments.begin(), arguments.end(), fill);
  packet->seal(sequence);
  const auto wire = packet->wire();
  std::vector<std::byte> bytes(wire.begin(), wire.end());
  packet->release();
  return bytes;
}

void damaged_packets_are_refused() {
  const int me = world_process();
  const int to = (me + 1) % world_processes();
  raw_bytes_are_refused(std::vector<std::byte>(10), "less than a packet header");
  raw_bytes_are_refused(std::vector<std::byte>(200), "do not start with a packet header");
  raw_bytes_are_refused(std::vector<std::byte>(3000), "truncated");
  std::vector<std::byte> flipped = wire_of(me, to, 0, 0);
  flipped.back() ^= std::byte{1};
  raw_bytes_are_refused(flipped, "checksum");
  // The missing byte differs from the receiver's memory: otherwise nothing would be lost.
  std::vector<std::byte> shorter = wire_of(me, to, 0, 0, 99, std::byte{0xA7});
  shorter.pop_back();
  raw_bytes_are_refused(shorter, "truncated");
  raw_bytes_are_refused(wire_of(me, to, 0, 1), "packet 1 arrived where 0 was due");
  raw_bytes_are_refused(wire_of(me, me, 0, 0), "between other ranks");
  raw_bytes_are_refused(wire_of(me, 1000, 0, 0), "between other ranks");
  raw_bytes_are_refused(wire_of(me, to, 7, 0), "between other ranks");
  raw_bytes_are_refused(wire_of(me, to, kEngineLane, 0), "an unknown message of the engine");
  const auto acknowledge = static_cast<std::uint32_t>(MpiMessage::acknowledge);
  raw_bytes_are_refused(wire_of(me, to, kEngineLane, 0, acknowledge), "were not sent");
}

void a_failed_call_names_itself() {
  mpi_check(mpi_table(), 0, {"MPI_Isend"});
  const std::string text = text_thrown_by<TransportError>("mpi_check", [] {
    mpi_check(mpi_table(), testing::mpi_error_code(), {"MPI_Isend", 3, 5, 77});
  });
  for (const char* part : {"MPI_Isend", "process 3", "peer process 5", "tag 77"}) {
    require_contains(text, part);
  }
  MpiTable mpi = mpi_table();  // which does not know its own errors
  mpi.error_string = [](int, char*, std::size_t) { return 1; };
  mpi.error_class = [](int, int*) { return 1; };
  require_contains(
      text_thrown_by<TransportError>("mpi_check", [&] { mpi_check(mpi, 77, {"MPI_Isend"}); }),
      "MPI_Isend failed: error code 77 (look at the launcher's output");
}

void a_payload_of_another_size_is_an_error(std::size_t send_bytes, std::size_t receive_bytes) {
  MpiOptions options;
  options.chunk_bytes = 1000;
  Node node(options);
  const Rank to = next_process(node, node.local());
  const Rank from((node.local() + node.layout().world_size - 1) % node.layout().world_size);
  // Without finish() MPI may send until the program ends.
  static std::deque<std::vector<std::byte>> kept;
  const std::vector<std::byte>& out = kept.emplace_back(send_bytes);
  std::vector<std::byte>& in = kept.emplace_back(receive_bytes);
  FlagEvent sent;
  FlagEvent arrived;
  const std::uint32_t tag = node.transport().new_payload_tag();
  node.transport().send_payload(node.local(), to, tag, out, &sent);
  node.transport().receive_payload(from, node.local(), tag, in, &arrived);
  const std::string text = text_thrown_by<TransportError>(
      "payload of another size", [&] { node.pump_until([&] { return arrived.ran; }); });
  require_contains(text, "truncated");
  require_contains(text, "tag");
  // Without finish(): the other process may have failed before it took what it was sent.
}

void a_payload_that_nobody_sends_is_an_error_of_the_end() {
  Node node({});
  static std::vector<std::byte> in(100);  // MPI may write into it until the program ends
  FlagEvent arrived;
  node.transport().receive_payload(next_process(node, node.local()), node.local(),
                                   node.transport().new_payload_tag(), in, &arrived);
  require_contains(
      text_thrown_by<TransportError>("a payload that nobody sends", [&] { node.finish(); }),
      fmt::format("process {} ends with 1 payloads under way", node.process()));
}

void leaving_without_finish_does_not_hang() {
  MpiOptions options;
  options.link.window_bytes = 4096;
  Node node(options);
  for (int target = 0; target < node.layout().world_size; ++target) {
    for (std::size_t i = 0; i < 50; ++i) {
      node.send(node.local(), Rank(target), Lane::normal, 3000 + i * 400);
    }
  }
  for (int i = 0; i < 5; ++i) node.pump();
}

// Usage: net_transport_failure_test [PART OF A CASE'S NAME]
int run_all(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       SHOAL_CASE(a_failed_call_names_itself()),
                       SHOAL_CASE(leaving_without_finish_does_not_hang()),
                       SHOAL_CASE(a_payload_of_another_size_is_an_error(500, 400)),
                       SHOAL_CASE(a_payload_of_another_size_is_an_error(400, 500)),
                       SHOAL_CASE(a_payload_of_another_size_is_an_error(3500, 3501)),
                       SHOAL_CASE(a_payload_that_nobody_sends_is_an_error_of_the_end()),
                       SHOAL_CASE(damaged_packets_are_refused()),
                   });
}

const shoal::testing::JoinedProgram kProgram("net_transport_failure_test", &run_all);

}  // namespace net_transport_failure_test
}  // namespace shoal::net::test
