// Does the same until the file named by its argument is there: used by
// tests/suites/top_programs.py. On each rank, three tasks are parked on a lock, one computes, and
// messages go to the next rank.

#include <shoal/shoal.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>

namespace {

void compute_for(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const std::string stop = world.args()[1];
    const shoal::Rank next((world.rank().value() + 1) % world.size());
    const auto note = world.make_am([](int) {});
    shoal::Mutex ledger("ledger");
    ledger.lock();
    constexpr int kReaders = 3;
    std::atomic<int> there{0};
    for (int i = 0; i < kReaders; ++i) {
      world.spawn(
          [&] {
            ++there;
            const std::scoped_lock lock(ledger);
          },
          {.name = "reader"});
    }
    while (there < kReaders) shoal::yield();
    while (!std::filesystem::exists(stop)) {
      for (int i = 0; i < 100; ++i) note.send(next, i);
      world.async([] { compute_for(std::chrono::milliseconds(5)); }, {.name = "relax"}).get();
    }
    ledger.unlock();
    world.wait();
  });
}
