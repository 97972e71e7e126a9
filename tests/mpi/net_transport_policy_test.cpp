// The transport over MPI under each progress policy, from its start to its end. The program has
// initialized MPI.

#include "mpi/transport_harness.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_session.hpp"
#include "net/mpi/mpi_transfers.hpp"
#include "net/mpi/mpi_window.hpp"
#include "net/mpi/mpi_wire.hpp"
#include "support/joined_program.hpp"

namespace shoal::net::test {
namespace net_transport_policy_test {

// --- Policies

/// Exchanges messages with all ranks until all have come, then stops the engine.
class Exchange final : public env::Steppable {
 public:
  explicit Exchange(Node& node) : node_(node) {}
  env::StepResult step() override {
    const Layout layout = node_.layout();
    if (sent_ < kMessages) {
      for (int target = 0; target < layout.world_size; ++target) {
        node_.send(node_.local(), Rank(target), Lane::normal, 64);
      }
      ++sent_;
    }
    const bool worked = node_.pump();
    const auto due = kMessages * static_cast<std::uint64_t>(layout.world_size);
    if (node_.received() < due || !node_.all_acknowledged()) {
      return worked ? env::StepResult::worked : env::StepResult::idle;
    }
    node_.transport().request_stop();
    return env::StepResult::stopped;
  }
  void run() override {
    while (step() != env::StepResult::stopped) node_.env().yield();
  }
  std::string name() const override { return "exchange"; }

 private:
  static constexpr std::uint64_t kMessages = 500;
  Node& node_;
  std::uint64_t sent_ = 0;
};

void each_policy_carries_messages(ProgressPolicy policy) {
  MpiOptions options;
  options.progress = policy;
  Node node(options);
  require(node.transport().policy() == policy, "policy {} became {}", static_cast<int>(policy),
          static_cast<int>(node.transport().policy()));
  require((node.transport().engine() != nullptr) == (policy == ProgressPolicy::thread),
          "an engine for the wrong policy");
  Exchange exchange(node);
  std::vector<env::Steppable*> all = {&exchange};
  if (node.transport().engine() != nullptr) all.push_back(node.transport().engine());
  node.env().drive(all);
  node.finish();
}

void the_engine_can_be_driven_by_steps() {
  MpiOptions options;
  options.progress = ProgressPolicy::thread;
  Node node(options);
  env::Steppable& engine = *node.transport().engine();
  const Rank to = next_process(node, node.local());
  for (int i = 0; i < 100; ++i) node.send(node.local(), to, Lane::normal, 100);
  while (node.received() < 100 || !node.all_acknowledged()) {
    require(engine.step() != env::StepResult::stopped, "stopped unasked");
    node.pump();
  }
  node.transport().request_stop();
  require(engine.step() == env::StepResult::stopped, "not stopped when asked");
  node.finish();
}

void policy_main_polls_on_the_main_thread_only() {
  MpiOptions options;
  options.progress = ProgressPolicy::main;
  options.flush_ns = 0;
  Node node(options);
  std::atomic<int> wakes = 0;
  node.transport().set_poll_waker([&] { ++wakes; });
  const Rank to = next_process(node, node.local());
  std::thread other([&] {
    node.send(node.local(), to, Lane::normal, 8);
    require(!node.transport().poll(false, nullptr), "polled on another thread");
  });
  other.join();
  if (node.layout().process_count() > 1) {
    require(wakes == 1, "a message of another thread woke {} times", wakes.load());
  }
  node.pump_until([&] { return node.received() == 1 && node.all_acknowledged(); });
  node.finish();
}

void many_threads_send_and_poll_at_once() {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kMessages = 2000;
  MpiOptions options;
  options.ranks_per_process = kThreads;
  options.link.window_bytes = std::size_t{32} * 1024;
  Node node(options);
  const auto due = kThreads * kMessages;
  std::atomic<int> still_sending = kThreads;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Rank from = node.local(t);
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        node.append(from, next_process(node, from), Lane::normal, i, i % 100);
        if (i % 16 == 0) node.transport().poll(false, nullptr);
      }
      --still_sending;
    });
  }
  node.pump_until([&] { return still_sending == 0 && node.received() == due; });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    Link& link = node.fabric().link(node.local(t), next_process(node, node.local(t)), Lane::normal);
    node.pump_until([&] { return link.in_flight_bytes() == 0; });
  }
  node.finish();
}

// --- Latency

constexpr std::uint64_t kHourNs = 3'600'000'000'000;

/// Whether the engine counts as quiet at once, or never.
void a_lone_message_leaves_without_a_poll(std::uint64_t flush_ns) {
  MpiOptions options;
  options.flush_ns = flush_ns;
  Node node(options);
  const auto count = static_cast<std::uint64_t>(node.layout().process_count());
  for (std::uint64_t turn = 0; turn < 4 * count; ++turn) {
    if (turn % count == static_cast<std::uint64_t>(node.process())) {
      node.send(node.local(), next_process(node, node.local()), Lane::control, 8);
      barrier_of_launch();  // of another communicator: the transport is not polled here
    } else {
      // Others are in the barrier only after the message has come to one of them.
      const bool is_mine = (turn + 1) % count == static_cast<std::uint64_t>(node.process());
      const std::uint64_t before = node.received();
      if (is_mine) node.pump_until([&] { return node.received() > before; });
      barrier_of_launch();
    }
  }
  node.pump_until([&] { return node.received() == 4; });
  node.finish();
}

// The first one leaves; the engine, which never counts as quiet, keeps the second one for company.
void the_second_message_that_nobody_polls_for_wakes_a_poller() {
  MpiOptions options;
  options.flush_ns = kHourNs;
  Node node(options);
  node.pump();
  int wakes = 0;
  node.transport().set_poll_waker([&] { ++wakes; });
  const int wakes_due = node.layout().process_count() > 1 ? 1 : 0;
  for (int i = 0; i < 2; ++i) {
    node.send(node.local(), next_process(node, node.local()), Lane::control, 8);
    require(wakes == i * wakes_due, "woken {} times by message {}", wakes, i);
  }
  node.pump_until([&] { return node.received() == 2 && node.all_acknowledged(); });
  node.finish();
}

class Flagged final : public MpiTransfer {
 public:
  explicit Flagged(bool& ended) : ended_(ended) {}
  void done() override { ended_ = true; }

 private:
  bool& ended_;
};

// More than one look takes in, and in each round another one is started.
void the_first_of_many_transfers_is_noticed_while_more_are_started() {
  constexpr int kBefore = 100;
  constexpr int kRounds = 1000;
  int self = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  const MpiTable& mpi = mpi_table();
  MpiTransfers transfers(mpi, mpi.comm_world, self, 1U << 20U);
  std::vector<std::array<std::byte, 8>> places(2 * kBefore + kRounds);
  std::deque<bool> ended;
  const std::array<std::byte, 8> bytes{};
  const auto receive = [&] {
    const auto number = static_cast<int>(ended.size());
    transfers.receive(std::make_unique<Flagged>(ended.emplace_back(false)),
                      places[static_cast<std::size_t>(number)], self, kPayloadTagFirst + number);
  };
  const auto send = [&](int number) {
    MPI_Send(bytes.data(), bytes.size(), MPI_BYTE, self, kPayloadTagFirst + number, MPI_COMM_WORLD);
  };
  const auto round = [&] {
    receive();
    transfers.advance();
  };
  for (int i = 0; i < kBefore; ++i) receive();
  for (int i = 0; i < kBefore; ++i) round();  // the looks have come to the last ones
  send(0);
  int rounds = 0;
  for (; rounds < kRounds && !ended.front(); ++rounds) round();
  require(ended.front(), "not noticed in {} rounds", rounds);
  for (int number = 1; number < static_cast<int>(ended.size()); ++number) send(number);
  while (!transfers.empty()) transfers.advance();
}

void windows_that_do_not_serve_are_refused() {
  const auto says = [](const std::string& text, const std::string& part) {
    require(text.find(part) != std::string::npos, "no \"{}\" in: {}", part, text);
  };
  require(window_problem(mpi_table(), 0, true).empty(), "a good window is refused");
  says(window_problem(mpi_table(), 0, false), "MPI_WIN_SEPARATE): run without --global-rma");
  const std::string failed = window_problem(mpi_table(), MPI_ERR_WIN, true);
  says(failed, mpi_error_text(mpi_table(), MPI_ERR_WIN));
  says(failed, "run without --global-rma");
}

void thread_levels_decide_the_policy() {
  using enum ProgressPolicy;
  const auto check = [](const ThreadUse& use, int level, ProgressPolicy policy,
                        const std::string& note, const std::string& error) {
    const ThreadDecision decision = decide_threads(use, level);
    const auto fits = [](const std::string& text, const std::string& part) {
      return part.empty() ? text.empty() : text.find(part) != std::string::npos;
    };
    require(decision.policy == policy && fits(decision.note, note) && fits(decision.error, error),
            "policy {} at level {} gives {}, note \"{}\", error \"{}\"",
            static_cast<int>(use.policy), level, static_cast<int>(decision.policy), decision.note,
            decision.error);
  };
  check({worker, true}, SHOAL_MPI_MULTIPLE, worker, "", "");
  check({thread, true}, SHOAL_MPI_SERIALIZED, thread, "must not call MPI", "");
  check({worker, true}, SHOAL_MPI_FUNNELED, main, "MPI_THREAD_FUNNELED", "");
  check({thread, true}, SHOAL_MPI_FUNNELED, main, "MPI_THREAD_FUNNELED", "");
  check({main, true}, SHOAL_MPI_FUNNELED, main, "", "");
  check({worker}, SHOAL_MPI_SERIALIZED, worker, "", "");
  // Only one thread calls MPI.
  check({main, true}, SHOAL_MPI_SINGLE, main, "", "");
  check({worker, true, true}, SHOAL_MPI_SINGLE, main, "", "");
  // More than one would.
  check({worker, true}, SHOAL_MPI_SINGLE, worker, "", "--progress main");
  check({thread, true}, SHOAL_MPI_SINGLE, thread, "", "MPI_THREAD_SERIALIZED");
  check({worker, false, false, true}, SHOAL_MPI_SINGLE, main, "earlier run", "");
  const auto wanted = [](const ThreadUse& use, int level) {
    require(wanted_thread_level(use) == level, "policy {} asks for level {}",
            static_cast<int>(use.policy), wanted_thread_level(use));
  };
  wanted({worker, false}, SHOAL_MPI_SERIALIZED);
  wanted({worker, true}, SHOAL_MPI_MULTIPLE);
  wanted({main, false, true}, SHOAL_MPI_SINGLE);  // one worker, which was told to poll alone
  wanted({main, false, false}, SHOAL_MPI_FUNNELED);
  wanted({main, true, true}, SHOAL_MPI_FUNNELED);
  wanted({worker, false, true}, SHOAL_MPI_SERIALIZED);
}

// --- Start and end

void exchange_gives_everyones_text() {
  Node node({});
  const auto text = [](int process) {
    return std::string(static_cast<std::size_t>(process) * 10, 'x') + fmt::format("{}", process);
  };
  const std::vector<std::string> all = node.transport().exchange(text(node.process()));
  require(static_cast<int>(all.size()) == world_processes(), "{} texts", all.size());
  for (int i = 0; i < world_processes(); ++i) {
    require(all[static_cast<std::size_t>(i)] == text(i), "text of process {} is \"{}\"", i,
            all[static_cast<std::size_t>(i)]);
  }
  node.finish();
}

void options_without_a_meaning_are_refused() {
  const auto env = env::make_thread_env();
  const auto refused = [&](const std::string& part, auto&& change) {
    MpiOptions options;
    options.env = env.get();
    change(options);
    require_contains(text_thrown_by<CheckError>(part.c_str(), [&] { make_mpi_transport(options); }),
                     part);
  };
  constexpr auto too_much = (std::size_t{1} << 30) + 1;
  refused("needs an environment", [](MpiOptions& options) { options.env = nullptr; });
  refused("ranks_per_process is 0", [](MpiOptions& options) { options.ranks_per_process = 0; });
  refused("node_processes is 0", [](MpiOptions& options) { options.node_processes = 0; });
  refused("chunk_bytes is 0", [](MpiOptions& options) { options.chunk_bytes = 0; });
  refused("chunk_bytes is 1073741825", [](MpiOptions& options) { options.chunk_bytes = too_much; });
  refused("packet_bytes is 1073741825",
          [](MpiOptions& options) { options.link.packet_bytes = too_much; });
  Node node({});
  require_contains(
      text_thrown_by<CheckError>("a second fabric",
                                 [&] { Fabric second(node.layout(), {}, &node.transport()); }),
      "a transport serves one fabric");
  node.finish();
}

void different_options_are_refused_everywhere() {
  if (world_processes() == 1) return;
  const auto env = env::make_thread_env();
  MpiOptions options;
  options.env = env.get();
  options.ranks_per_process = world_process() == 0 ? 3 : 2;
  const std::string text = text_thrown_by<ConfigError>("different --ranks-per-process",
                                                       [&] { make_mpi_transport(options); });
  require_contains(text, "--ranks-per-process");
  require_contains(text, ": 3 on ");
  require_contains(text, "; 2 on ");
}

void a_part_of_the_programs_processes_can_be_used() {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_process() % 2, 0, &half);
  int size = 0;
  MPI_Comm_size(half, &size);
  MpiOptions options;
  options.communicator = &half;
  {
    Node node(options);
    require(node.layout().world_size == size, "world of {} in a communicator of {}",
            node.layout().world_size, size);
  }
  all_pairs(options, 50, 3000, 2);
  int sum = 0;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
  require(sum == size, "the program's communicator is damaged");
  MPI_Comm_free(&half);
}

void what_is_no_communicator_of_one_world_is_refused() {
  const auto env = env::make_thread_env();
  MpiOptions options;
  options.env = env.get();
  const auto refused = [&](MPI_Comm communicator, const std::string& part) {
    options.communicator = &communicator;
    const std::string text =
        text_thrown_by<ConfigError>(part.c_str(), [&] { make_mpi_transport(options); });
    require_contains(text, part);
  };
  refused(MPI_COMM_NULL, "MPI_COMM_NULL");

  if (world_processes() > 1) {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_process() % 2, 0, &half);
    MPI_Comm both = MPI_COMM_NULL;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_process() % 2, 0, &both);
    refused(both, "intercommunicator");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
  }
  // The program's way to handle errors is what it was.
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  require(handler == MPI_ERRORS_RETURN, "another error handler");
}

// As far as MPI knows: for Open MPI it is a pointer to memory that it has freed.
void a_communicator_that_was_freed_is_refused() {
  if (mpi_library().find("Open MPI") != std::string::npos) return;
  const auto env = env::make_thread_env();
  MPI_Comm freed = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  MPI_Comm kept = freed;
  MPI_Comm_free(&freed);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MpiOptions options;
  options.env = env.get();
  options.communicator = &kept;
  const std::string text = text_thrown_by<ConfigError>("a communicator that was freed",
                                                       [&] { make_mpi_transport(options); });
  require_contains(text, "freed already");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

void the_last_messages_before_finish_arrive() {
  Node node({});
  // Control messages before the first poll for them, as at the end of a run.
  for (int target = 0; target < node.layout().world_size; ++target) {
    node.send(node.local(), Rank(target), Lane::control, 5000);
  }
  node.finish();
  node.deliver();
  require(node.received() == static_cast<std::uint64_t>(node.layout().world_size),
          "{} of {} arrived", node.received(), node.layout().world_size);
}

// Usage: net_transport_policy_test [PART OF A CASE'S NAME]
int run_all(int argc, char** argv) {
  return run_cases(argc, argv,
                   {
                       SHOAL_CASE(each_policy_carries_messages(ProgressPolicy::worker)),
                       SHOAL_CASE(each_policy_carries_messages(ProgressPolicy::main)),
                       SHOAL_CASE(each_policy_carries_messages(ProgressPolicy::thread)),
                       SHOAL_CASE(the_engine_can_be_driven_by_steps()),
                       SHOAL_CASE(policy_main_polls_on_the_main_thread_only()),
                       SHOAL_CASE(many_threads_send_and_poll_at_once()),
                       SHOAL_CASE(a_lone_message_leaves_without_a_poll(0)),
                       SHOAL_CASE(a_lone_message_leaves_without_a_poll(kHourNs)),
                       SHOAL_CASE(the_second_message_that_nobody_polls_for_wakes_a_poller()),
                       SHOAL_CASE(the_first_of_many_transfers_is_noticed_while_more_are_started()),
                       SHOAL_CASE(thread_levels_decide_the_policy()),
                       SHOAL_CASE(windows_that_do_not_serve_are_refused()),
                       SHOAL_CASE(exchange_gives_everyones_text()),
                       SHOAL_CASE(options_without_a_meaning_are_refused()),
                       SHOAL_CASE(different_options_are_refused_everywhere()),
                       SHOAL_CASE(a_part_of_the_programs_processes_can_be_used()),
                       SHOAL_CASE(what_is_no_communicator_of_one_world_is_refused()),
                       SHOAL_CASE(a_communicator_that_was_freed_is_refused()),
                       SHOAL_CASE(the_last_messages_before_finish_arrive()),
                   });
}

const shoal::testing::JoinedProgram kProgram("net_transport_policy_test", &run_all);

}  // namespace net_transport_policy_test
}  // namespace shoal::net::test
