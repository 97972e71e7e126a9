// Distributed objects: each rank has a representative, and invokes methods on those of others.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace {

/// An account on each rank. Invocations run one at a time, so there is no lock.
class Bank : public shoal::DistributedObject<Bank> {
 public:
  explicit Bank(shoal::Team& team) : DistributedObject(team) {}

  void deposit(long amount) { balance_ += amount; }
  [[nodiscard]] long balance() const { return balance_; }
  /// Invokes on a third rank; the caller waits for neither.
  void pass_on(long amount, shoal::Rank to) {
    balance_ -= amount;
    async<&Bank::deposit>(to, amount);
  }

 private:
  long balance_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    Bank bank(world);  // on all ranks, in the same order; sends nothing
    const shoal::Rank next((world.rank() + 1) % world.size());

    // [invoke]
    bank.async<&Bank::deposit>(next, 100);
    bank.async<&Bank::pass_on>(next, 30, world.rank());  // after the deposit
    const long seen = bank.sync<&Bank::balance>(next);   // after both
    // [/invoke]
    if (seen < 70 || seen > 130) return 1;  // the next one may have passed 30 on

    bank.fence();  // all invocations have run, on all ranks
    const long total = bank.allreduce<&Bank::balance>(std::plus<>()).get();
    if (world.rank() == 0) {
      // One rank alone asks all.
      const std::vector<long> all = bank.call<&Bank::balance>(shoal::all_ranks).get();
      std::printf("%zu balances, in all %ld\n", all.size(), total);
    }

    // Containers are distributed objects.
    shoal::DistributedMap<std::string, int> words(world);
    for (const char* word : {"shoal", "of", "fish", "shoal"}) words.count(word);
    words.fence();
    const bool good = words.find("shoal").get() == 2 * world.size() && total == 100L * world.size();
    bank.fence();  // no rank needs the representatives of this one any more
    return good ? 0 : 1;
  });
}
