// The last process is killed while all exchange messages: used by kill_rank.cmake.

#include <shoal/shoal.hpp>

#include <csignal>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const auto am = world.make_am([](int) {});
    for (int i = 0;; ++i) {  // until the launcher ends this process
      if (i == 100'000 && world.rank() == world.size() - 1) static_cast<void>(std::raise(SIGKILL));
      am.send(shoal::Rank(i % world.size()), i);
    }
  });
}
