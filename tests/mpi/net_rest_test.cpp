// Rests between polls of MPI, beside other programs that compute. Run on 2 processes.

#include "mpi/transport_harness.hpp"
#include "support/joined_program.hpp"
#include "support/slow_yields.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "net/mpi/mpi_rest.hpp"
#include "net/mpi/mpi_session.hpp"

namespace shoal::net::test {
namespace net_rest_test {

constexpr std::uint64_t kMs = 1'000'000;

/// Polls that find nothing until the first sleep.
int polls_until_sleep(MpiRest& rest) {
  rest.end();
  int polls = 1;
  while (rest.next_sleep_ns() == 0) ++polls;
  return polls;
}

void a_rest_yields_before_it_sleeps_longer_and_longer() {
  testing::SlowYields env;
  env.yield_ns = 1000;
  MpiRest rest(env);
  require(polls_until_sleep(rest) > 100, "sleeps at once");
  require(env.yields > 50, "{} yields", env.yields);
  std::uint64_t last = 0;
  for (int i = 0; i < 10; ++i) last = rest.next_sleep_ns();
  require(last > 100'000 && rest.next_sleep_ns() == last, "the longest sleep is {} ns", last);
}

void beside_programs_that_compute_a_rest_sleeps_after_two_long_yields() {
  testing::SlowYields env;
  env.yield_ns = 4 * kMs;
  MpiRest rest(env);
  polls_until_sleep(rest);
  require(env.yields == 2, "{} yields", env.yields);
  polls_until_sleep(rest);
  require(env.yields == 2, "{} yields, though others compute", env.yields);
  env.pass(200 * kMs);
  polls_until_sleep(rest);
  require(env.yields == 3, "{} yields in the end", env.yields);
}

bool g_yields = false;
int g_switched = 0;
int set_yields(int on) {
  ++g_switched;
  return std::exchange(g_yields, on != 0) ? 1 : 0;
}

void yields_of_mpi_are_off_for_a_while_if_there_are_any() {
  for (const bool on : {false, true}) {
    g_yields = on;
    const MpiYields yields(&set_yields);
    require(g_yields == on, "to look at them has switched them");
    const int before = std::exchange(g_switched, 0);
    {
      const MpiYields::Off off(yields);
      require(!g_yields, "they are on");
    }
    require(before <= 2 && g_yields == on && g_switched == (on ? 2 : 0),
            "they were {} and are {}, switched {} times", on, g_yields, g_switched);
  }
  const MpiYields none(nullptr);
  const MpiYields::Off off(none);
}

/// Whether MPI yields in a poll, seen where that posts to a port.
class YieldsSeen final : public PortWaker {
 public:
  explicit YieldsSeen(MpiYields::Switch& set) : set_(set) {}
  void wake_for_progress() override {
    const bool on = set_(0) != 0;
    if (on) static_cast<void>(set_(1));
    seen = seen || on;
    ++calls;
  }
  bool seen = false;
  int calls = 0;

 private:
  MpiYields::Switch& set_;
};

void polls_of_open_mpi_do_not_yield() {
  MpiYields::Switch* const set = mpi_table().switch_yields;
  const bool is_open_mpi = mpi_library().find("Open MPI") != std::string::npos;
  require((set != nullptr) == is_open_mpi, "{} has {}switch", mpi_library(),
          set != nullptr ? "a " : "no ");
  if (set == nullptr || world_processes() == 1) return;
  const bool before = set(1) != 0;
  {
    Node node({});
    YieldsSeen seen(*set);
    Port& port = node.fabric().port(node.local());
    port.set_waker(&seen);
    const Rank other = next_process(node, node.local());
    const auto tag = node.transport().new_payload_tag();
    std::uint64_t in = 0;
    const std::uint64_t out = 1;
    FlagEvent sent;
    FlagEvent arrived;
    node.transport().receive_payload(other, node.local(), tag,
                                     std::as_writable_bytes(std::span(&in, 1)), &arrived);
    node.transport().send_payload(node.local(), other, tag, std::as_bytes(std::span(&out, 1)),
                                  &sent);
    node.pump_until([&] { return sent.ran && arrived.ran; });
    port.set_waker(nullptr);
    require(seen.calls > 0 && !seen.seen, "MPI yields in a poll");
    node.finish();
  }
  require(set(before ? 1 : 0) != 0, "the yields are off after the world");
}

int run_all(int argc, char** argv) {
  return run_cases(
      argc, argv,
      {
          SHOAL_CASE(a_rest_yields_before_it_sleeps_longer_and_longer()),
          SHOAL_CASE(beside_programs_that_compute_a_rest_sleeps_after_two_long_yields()),
          SHOAL_CASE(yields_of_mpi_are_off_for_a_while_if_there_are_any()),
          SHOAL_CASE(polls_of_open_mpi_do_not_yield()),
      });
}

const shoal::testing::JoinedProgram kProgram("net_rest_test", &run_all);

}  // namespace net_rest_test
}  // namespace shoal::net::test
