// The last process is killed while all exchange messages, or with "crash" a task of it is at fault:
// used by kill_rank.cmake.

#include <shoal/shoal.hpp>

#include "support/joined_program.hpp"

#include <csignal>
#include <cstdint>
#include <string_view>

namespace kill_rank {

constexpr std::uintptr_t kNowhere = 16;

void write_to(std::uintptr_t address) { *reinterpret_cast<volatile int*>(address) = 1; }

int program(int argc, char** argv) {
  const bool crashes = argc > 1 && std::string_view(argv[1]) == "crash";
  return shoal::run(argc, argv, [crashes](shoal::World& world) {
    const bool is_last = world.rank() == world.size() - 1;
    if (crashes && is_last) world.spawn([] { write_to(kNowhere); }, {.name = "careless"});
    if (crashes) return world.wait();
    const auto am = world.make_am([](int) {});
    for (int i = 0;; ++i) {  // until the launcher ends this process
      if (i == 100'000 && is_last && !crashes) static_cast<void>(std::raise(SIGKILL));
      am.send(shoal::Rank(i % world.size()), i);
    }
  });
}

const shoal::testing::JoinedProgram kProgram("kill_rank", &program);

}  // namespace kill_rank
