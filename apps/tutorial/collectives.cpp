// Collectives are called by the main functions of all ranks, in the same order.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <functional>
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

    if (me == root) std::printf("%s: 0 + ... + %d = %d\n", word.c_str(), last, sum);

    if (sum != last * (last + 1) / 2 || word != "hello" || everybody.back() != last) return 1;
    if (me == root && squares.back() != last * last) return 1;
    return 0;
  });
}
