// One call sends to many ranks, along a tree that the message carries with it.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    int told = 0;
    const auto tell = world.make_am(
        [&](shoal::MessageContext context, const std::string& text, const std::vector<int>& tile) {
          told += static_cast<int>(tile.size());
          if (world.rank() == world.size() - 1) {
            std::printf("%s, from rank %d\n", text.c_str(), context.source().value());
          }
        });

    // [multicast]
    if (world.rank() == 0) {
      const auto all = shoal::RankSet::range(shoal::Rank(0), world.size());
      world.multicast(all, tell, "to all", std::vector<int>(1000, 7));

      // The sender chooses the shape of the tree and the order of the recipients.
      std::vector<shoal::Rank> ranks;
      std::vector<int> priorities;
      for (int rank = 0; rank < world.size(); ++rank) {
        ranks.emplace_back(rank);
        priorities.push_back(rank);  // the last rank is served first
      }
      const shoal::MulticastTree chain{shoal::TreeShape::chain};
      world.multicast(shoal::Recipients(ranks, chain, priorities), tell, "along a chain",
                      std::vector<int>(10, 1));
    }
    // [/multicast]

    // An urgent message overtakes others, except urgent ones.
    if (world.rank() == 0) tell.send_urgent(shoal::Rank(0), "urgent", std::vector<int>(1));
    world.wait();
    return told == (world.rank() == 0 ? 1011 : 1010) ? 0 : 1;
  });
}
