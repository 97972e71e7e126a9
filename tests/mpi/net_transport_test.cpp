// Transport over MPI: packets and payloads of all sizes, in order, within the
// memory that the window allows. The program has initialized MPI.

#include "mpi/transport_harness.hpp"
#include "support/joined_program.hpp"

#include <algorithm>

namespace shoal::net::test {
namespace net_transport_test {

// --- Carrying packets

// From process 0 to process 1, which does not send: that would be another look for packets.
void packets_come_past_the_port_unless_older_ones_stand_there() {
  constexpr int kPolls = 1000;  // in which the last packet comes, most likely
  Node node({});
  const auto send = [&] {
    node.send(node.local(), next_process(node, node.local()), Lane::normal, 8);
  };
  Port& port = node.fabric().port(node.local());
  DirectArrivals direct{&port, 1, {}};
  if (node.process() == 0 && node.layout().process_count() > 1) {
    send();
    node.pump_until([&] { return node.all_acknowledged(); });
    send();
    for (int i = 0; i < kPolls; ++i) node.transport().poll(true, nullptr);
    send();
    node.pump_until([&] { return node.all_acknowledged(); });
  } else if (node.process() == 1) {
    while (direct.packets.empty() && port.looks_empty()) node.transport().poll(true, &direct);
    require(port.looks_empty(), "a packet came into the port although its rank was polling");
    node.recorder().on_packet(direct.packets.pop_front());
    while (port.looks_empty()) node.transport().poll(true, nullptr);
    for (int i = 0; i < kPolls; ++i) node.transport().poll(true, &direct);
    require(direct.packets.empty(), "a packet overtook the one in the port");
    node.pump_until([&] { return node.received() == 3; });
  }
  node.finish();
}

void urgent_messages_leave_though_nothing_else_does() {
  Node node({});
  if (node.layout().process_count() > 1) {
    node.send(node.local(), next_process(node, node.local()), Lane::urgent, 8);
    node.pump_until([&] { return node.received() == 1; });
  }
  node.finish();
}

void small_messages_between_all_ranks_come_in_order() { all_pairs({}, 600, 3000, 2); }

void ranks_of_one_process_and_of_others_talk_alike() {
  MpiOptions options;
  options.ranks_per_process = 2;
  all_pairs(options, 300, 3000, 2);
}

void large_packets_keep_their_place_in_the_order() {
  MpiOptions options;
  options.chunk_bytes = std::size_t{64} * 1024;
  all_pairs(options, 60, 900'000, 6);
}

void packets_of_exactly_the_limit_and_around_it_arrive() {
  MpiOptions options;
  options.link.packet_bytes = 2048;
  options.chunk_bytes = 256;
  Node node(options);
  const Rank to = next_process(node, node.local());
  std::uint64_t due = 0;
  for (std::size_t fill = 900; fill < 2200; fill += 4, ++due) {
    node.send(node.local(), to, Lane::normal, fill);
    node.pump();
  }
  node.pump_until([&] { return node.received() >= due && node.all_acknowledged(); });
  node.finish();
}

void one_message_larger_than_the_window_is_sent() {
  MpiOptions options;
  options.link.window_bytes = 4096;
  Node node(options);
  const Rank to = next_process(node, node.local());
  for (int i = 0; i < 5; ++i) node.send(node.local(), to, Lane::normal, 100'000);
  node.pump_until([&] { return node.received() == 5 && node.all_acknowledged(); });
  node.finish();
}

// --- Memory

void a_flood_to_a_slow_receiver_stays_within_the_window() {
  MpiOptions options;
  options.link.packet_bytes = 1024;
  options.link.window_bytes = std::size_t{16} * 1024;
  Node node(options);
  if (node.layout().process_count() == 1) return node.finish();
  constexpr std::uint64_t kMessages = 5000;
  const Rank to = next_process(node, node.local());
  Recorder& recorder = node.recorder();
  recorder.keep = true;
  // The sender does not wait for room, as handlers do not: the engine alone must hold back.
  for (std::uint64_t i = 0; i < kMessages; ++i) node.send(node.local(), to, Lane::normal, 100);
  node.send(node.local(), to, Lane::control, 0);
  node.pump_until([&] { return recorder.control_messages == 1 && recorder.messages > 1; });
  require(recorder.messages < kMessages, "all {} messages came although none was released",
          recorder.messages);
  int turn = 0;
  node.pump_until([&] {
    if (++turn % 3 == 0) recorder.release_one();
    return node.received() == kMessages + 1;
  });
  recorder.release_all();
  node.pump_until([&] { return node.all_acknowledged(); });
  const std::size_t limit = options.link.window_bytes + options.link.packet_bytes + 64;
  require(recorder.peak_kept_bytes <= limit, "{} bytes were held, the window allows {}",
          recorder.peak_kept_bytes, limit);
  node.finish();
}

class CountingWaiter final : public sync::Waiter {
 public:
  void wake() override { ++woken; }
  int woken = 0;
};

void a_sender_that_waits_for_room_is_woken_once() {
  MpiOptions options;
  options.link.window_bytes = 4096;
  Node node(options);
  constexpr std::uint64_t kMessages = 300;
  const Rank to = next_process(node, node.local());
  Link& link = node.fabric().link(node.local(), to, Lane::normal);
  for (std::uint64_t sent = 0; sent < kMessages;) {
    CountingWaiter waiter;
    if (link.has_room()) {
      node.send(node.local(), to, Lane::normal, 300);
      ++sent;
    } else if (link.enlist(waiter)) {
      node.pump_until([&] { return waiter.woken > 0; });
      require(waiter.woken == 1, "woken {} times", waiter.woken);
    }
  }
  node.pump_until([&] { return node.received() == kMessages && node.all_acknowledged(); });
  node.finish();
}

// --- Payloads

void payloads_of_all_sizes_arrive(std::size_t chunk_bytes) {
  MpiOptions options;
  options.chunk_bytes = chunk_bytes;
  Node node(options);
  const Rank to = next_process(node, node.local());
  const Rank from((node.local() + node.layout().world_size - 1) % node.layout().world_size);
  const std::vector<std::size_t> sizes = {0, 1, 4095, 1 << 20, (1 << 20) + 1, 64 << 20};
  std::vector<std::vector<std::byte>> out(sizes.size());
  std::vector<std::vector<std::byte>> in(sizes.size());
  std::vector<FlagEvent> sent(sizes.size());
  std::vector<FlagEvent> arrived(sizes.size());
  std::vector<std::uint32_t> tags;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    tags.push_back(node.transport().new_payload_tag());  // the same in all processes of this test
    out[i].resize(sizes[i]);
    in[i].resize(sizes[i]);
    for (std::size_t at = 0; at < sizes[i]; at += 509) out[i][at] = pattern(i, at);
    node.transport().send_payload(node.local(), to, tags[i], out[i], &sent[i]);
  }
  for (std::size_t i = sizes.size(); i-- > 0;) {  // the other way round: tags tell them apart
    node.transport().receive_payload(from, node.local(), tags[i], in[i], &arrived[i]);
  }
  node.pump_until([&] {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!sent[i].ran || !arrived[i].ran) return false;
    }
    return true;
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(in[i] == out[i], "payload of {} bytes differs", sizes[i]);
  }
  node.finish();
}

void many_payloads_under_way_at_once_arrive() {
  Node node({});
  constexpr std::size_t kCount = 500;
  const Rank to = next_process(node, node.local());
  const Rank from((node.local() + node.layout().world_size - 1) % node.layout().world_size);
  std::vector<std::uint64_t> out(kCount);
  std::vector<std::uint64_t> in(kCount);
  std::vector<FlagEvent> sent(kCount);
  std::vector<FlagEvent> arrived(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    out[i] = i + 1;
    const auto tag = node.transport().new_payload_tag();
    node.transport().receive_payload(from, node.local(), tag,
                                     std::as_writable_bytes(std::span(&in[i], 1)), &arrived[i]);
    node.transport().send_payload(node.local(), to, tag, std::as_bytes(std::span(&out[i], 1)),
                                  &sent[i]);
  }
  node.pump_until([&] {
    return std::all_of(sent.begin(), sent.end(), [](const FlagEvent& e) { return e.ran; }) &&
           std::all_of(arrived.begin(), arrived.end(), [](const FlagEvent& e) { return e.ran; });
  });
  require(in == out, "small payloads differ");
  node.finish();
}

/// From process 0 to process 1 only, to halve the memory: 4 GiB in all, and as much again for the
/// packet.
void more_bytes_than_an_int_counts_arrive() {
  Node node({});
  const std::size_t size = (std::size_t{1} << 31) + 12345;
  const bool sends = node.process() == 0 && node.layout().process_count() > 1;
  const bool receives = node.process() == 1;
  std::vector<std::byte> bytes(sends || receives ? size : 0);
  FlagEvent done;
  if (sends) {
    for (std::size_t at = 0; at < size; at += 4097) bytes[at] = pattern(1, at);
    node.transport().send_payload(node.local(), Rank(1), 5, bytes, &done);
  } else if (receives) {
    node.transport().receive_payload(Rank(0), node.local(), 5, bytes, &done);
  }
  if (sends || receives) node.pump_until([&] { return done.ran; });
  for (std::size_t at = 0; receives && at < size; at += 4097) {
    require(bytes[at] == pattern(1, at), "byte {} of the payload is wrong", at);
  }
  bytes = {};
  if (sends) node.send(node.local(), Rank(1), Lane::normal, size);
  node.pump_until(
      [&] { return node.received() == (receives ? 1U : 0U) && node.all_acknowledged(); });
  node.finish();
}

// Usage: net_transport_test [PART OF A CASE'S NAME]
int run_all(int argc, char** argv) {
  return run_cases(
      argc, argv,
      {
          SHOAL_CASE(packets_come_past_the_port_unless_older_ones_stand_there()),
          SHOAL_CASE(urgent_messages_leave_though_nothing_else_does()),
          SHOAL_CASE(small_messages_between_all_ranks_come_in_order()),
          SHOAL_CASE(ranks_of_one_process_and_of_others_talk_alike()),
          SHOAL_CASE(large_packets_keep_their_place_in_the_order()),
          SHOAL_CASE(packets_of_exactly_the_limit_and_around_it_arrive()),
          SHOAL_CASE(one_message_larger_than_the_window_is_sent()),
          SHOAL_CASE(a_flood_to_a_slow_receiver_stays_within_the_window()),
          SHOAL_CASE(a_sender_that_waits_for_room_is_woken_once()),
          SHOAL_CASE(payloads_of_all_sizes_arrive(std::size_t{1} << 30)),
          SHOAL_CASE(payloads_of_all_sizes_arrive(std::size_t{1} << 20)),
          SHOAL_CASE(many_payloads_under_way_at_once_arrive()),
          {"more_bytes_than_an_int_counts_arrive()", more_bytes_than_an_int_counts_arrive, true},
      });
}

const shoal::testing::JoinedProgram kProgram("net_transport_test", &run_all);

}  // namespace net_transport_test
}  // namespace shoal::net::test
