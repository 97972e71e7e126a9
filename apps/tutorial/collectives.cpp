// Collectives are called by the main functions of all ranks, in the same order.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const int me = world.rank();
    const int last = world.size() - 1;
    const shoal::Rank root(0);

    world.barrier();
    const int sum = world.allreduce(me, std::plus<>());
    const std::string word = world.broadcast(std::string(me == root ? "hello" : ""), root);
    const std::vector<int> everybody = world.allgather(me);
    const std::vector<int> squares = world.gather(me * me, root);  // empty on the other ranks

    const int before = world.exclusive_scan(me, std::plus<>(), 0);  // over the ranks before

    // The others go on in the background, large ones without copies.
    std::vector<double> field(100'000, me == root ? 0.5 : 0.0);
    shoal::Future<void> copied = world.broadcast_async(std::span(field), root);
    shoal::Future<int> largest =
        world.allreduce_async(me, [](int a, int b) { return a < b ? b : a; });
    copied.get();

    if (me == root) std::printf("%s: 0 + ... + %d = %d\n", word.c_str(), last, sum);

    if (sum != last * (last + 1) / 2 || word != "hello" || everybody.back() != last) return 1;
    if (before != me * (me - 1) / 2 || field.back() != 0.5 || largest.get() != last) return 1;
    if (me == root && squares.back() != last * last) return 1;
    return 0;
  });
}
