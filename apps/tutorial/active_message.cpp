// An active message runs a function on another rank. The receiver does not have to wait for it.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {

// Any function can be a handler. A span views the elements inside the message, without a copy.
void greet(shoal::World& world, const std::string& name, std::span<const double> numbers) {
  std::printf("Rank %d got %zu numbers from %s.\n", int{world.rank()}, numbers.size(),
              name.c_str());
}

// A type of the program lists its members once, for both directions.
struct Reading {
  std::string place;
  std::vector<double> values;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(place, values);
  }
};

void print(const Reading& reading) {
  std::printf("%zu values from %s.\n", reading.values.size(), reading.place.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const int next = (world.rank() + 1) % world.size();
    const std::vector<double> numbers = {1, 2, 3};
    world.send(shoal::Rank(next), shoal::am<greet>, "rank " + std::to_string(world.rank()),
               numbers);

    world.send(shoal::Rank(next), shoal::am<print>, Reading{"the roof", {20.5, 21}});

    // [closure]
    // A handler with captures is made on all ranks, in the same order. Handlers run one at a time.
    int sum = 0;
    const auto add = world.make_am([&sum](int x) { sum += x; });
    for (int rank = 0; rank < world.size(); ++rank) add.send(shoal::Rank(rank), 1);
    world.wait();  // until no task and no message exists anywhere: now sum is complete
    // [/closure]
    return sum == world.size() ? 0 : 1;
  });
}
