// A task that is tried again when it has thrown. What an attempt sends and spawns is withheld until
// it has succeeded, so nobody sees one that fails.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <stdexcept>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    int sum = 0;
    const auto add = world.make_am([&sum](int x) { sum += x; });
    int attempts = 0;  // a variable of the program: attempts that fail count as well
    if (world.rank() == 0) {
      world.spawn(
          [&] {
            for (int rank = 0; rank < world.size(); ++rank) add.send(shoal::Rank(rank), 1);
            if (++attempts < 3) throw std::runtime_error("the disk does not answer");
          },
          {.name = "read", .retries = 5});
    }
    world.wait();
    if (world.rank() == 0) std::printf("%d attempts\n", attempts);
    std::printf("Rank %d got %d.\n", int{world.rank()}, sum);
  });
}
