// A large message carries one buffer from the sender's memory straight into the receiver's.

#include <shoal/shoal.hpp>

#include <numeric>
#include <span>
#include <vector>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    std::vector<double> outgoing(1'000'000);
    std::iota(outgoing.begin(), outgoing.end(), 0.0);
    std::vector<double> incoming;
    int sender = -1;
    bool released = false;

    const auto big = world.make_large_am<double>(
        // On the receiver, first: where shall the elements go?
        [&](std::size_t count, int /*from*/) -> std::span<double> {
          incoming.resize(count);
          return incoming;
        },
        // On the receiver, later: they are there.
        [&](std::span<double> /*data*/, int from) { sender = from; },
        // On the sender: its buffer may be written again.
        [&](int /*from*/) { released = true; });

    const int next = (world.rank() + 1) % world.size();
    big.send(shoal::Rank(next), outgoing, int{world.rank()});
    world.wait();

    const int previous = (world.rank() + world.size() - 1) % world.size();
    return incoming == outgoing && sender == previous && released ? 0 : 1;
  });
}
