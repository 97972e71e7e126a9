// Rounds of messages from every rank to every rank until the file named on the command line exists;
// the test cuts and kills hosts meanwhile. The sums must be those of the rounds that were played.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <stdexcept>

namespace {

constexpr int kMessages = 20;  // from each rank to each rank, in each round

void play(shoal::World& world, const std::filesystem::path& end) {
  const auto size = static_cast<std::uint64_t>(int{world.size()});
  std::uint64_t sum = 0;
  const auto add = world.make_am([&](std::uint64_t value) { sum += value; });
  const shoal::Rank first(0);
  std::uint64_t round = 0;
  for (bool last = false; !last; ++round) {
    for (int rank = 0; rank < world.size(); ++rank) {
      for (int i = 0; i < kMessages; ++i) add.send(shoal::Rank(rank), round);
    }
    world.wait();
    last = world.broadcast(std::filesystem::exists(end), first);
    if (world.rank() == first && round % 100 == 10) std::cout << "round " << round << std::endl;
  }
  const std::uint64_t expected = kMessages * size * (round * (round - 1) / 2);
  if (sum != expected) throw std::runtime_error("the sum is wrong");
  if (world.rank() == first) std::cout << "the sums are right" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: rounds FILE [OPTION...]\n";
    return 2;
  }
  const std::filesystem::path end = argv[1];
  return shoal::run(argc, argv, [&](shoal::World& world) { play(world, end); });
}
