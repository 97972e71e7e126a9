// A value that does not change any more is shared by the ranks of a process, and copied only where
// it has to cross to another process. The program cannot tell the difference, except by the time.

#include <shoal/shoal.hpp>

#include <vector>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    using Table = std::vector<int>;
    shoal::Immutable<Table> received;
    const auto am = world.make_am([&](const shoal::Immutable<Table>& table) { received = table; });

    if (world.rank() == 0) {
      const auto table = shoal::make_immutable<Table>(100'000, 42);
      for (int rank = 0; rank < world.size(); ++rank) am.send(shoal::Rank(rank), table);
    }
    world.wait();

    // The table lives as long as a handle to it exists.
    return received->size() == 100'000 && received->back() == 42 ? 0 : 1;
  });
}
