// A programming model of one's own: counters that all ranks add to, and that programs wait for.

#include <shoal/shoal.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using shoal::MessageContext;
using shoal::Rank;
using shoal::RemotePromise;

// [model]
/// Counters by number, each at home on one rank. All members of the team make it in the same order.
class Counters final : private shoal::team::Unsatisfied {
 public:
  explicit Counters(shoal::Team& team)
      : team_(team),
        sent_(static_cast<std::size_t>(team.size())),
        add_(team.make_am([this](MessageContext from, int key, int amount, std::uint64_t number) {
          on_add(from.source(), key, amount, number);
        })),
        reach_(team.make_am([this](int key, int goal, RemotePromise<int> reply) {
          const std::lock_guard lock(mutex_);
          waiting_[key].emplace_back(goal, reply);
          serve(key);
        })),
        value_(team.make_function(
            [this](int key) {
              const std::lock_guard lock(mutex_);
              return values_[key];
            },
            {shoal::Delivery::inlined})) {
    team_.core().add(*this);
  }
  ~Counters() { team_.core().remove(*this); }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// A message to the home of the counter. **Caller**: the main function.
  void add(int key, int amount) {
    const Rank home = home_of(key);
    add_.send(home, key, amount, ++sent_[static_cast<std::size_t>(home.value())]);
  }
  /// A call with a reply.
  shoal::Future<int> value(int key) { return team_.call(home_of(key), value_, key); }
  /// Fulfilled with the value once that is `goal` or more.
  shoal::Future<int> reach(int key, int goal) {
    shoal::Promise<int> promise(team_, "a counter");
    shoal::Future<int> future = promise.future();
    reach_.send(home_of(key), key, goal, team_.publish(std::move(promise)));
    return future;
  }

 private:
  [[nodiscard]] Rank home_of(int key) const { return Rank(key % team_.size()); }

  void on_add(Rank source, int key, int amount, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    // Checker: on in simulated runs, which go through orders that no machine shows.
    if (team_.core().checks_graphs() && number != ++received_[source.value()]) {
      throw shoal::CheckError("an addition of rank " + std::to_string(source.value()) +
                              " was lost, came twice or overtook another");
    }
    values_[key] += amount;
    serve(key);
  }
  void serve(int key) {
    std::erase_if(waiting_[key], [&](const auto& one) {
      if (values_[key] < one.first) return false;
      team_.fulfill(one.second, values_[key]);
      return true;
    });
  }

  // Waiting entries: wait() throws StuckError with these lines if nothing can bring it any more,
  // and the stall report shows them.
  [[nodiscard]] std::uint64_t unsatisfied_count() const override {
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    for (const auto& [key, list] : waiting_) count += list.size();
    return count;
  }
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (const auto& [key, list] : waiting_) {
      for (const auto& [goal, reply] : list) {
        lines.push_back("counter " + std::to_string(key) + ": rank " + std::to_string(reply.rank) +
                        " waits for " + std::to_string(goal));
      }
    }
    return lines;
  }

  shoal::Team& team_;
  mutable std::mutex mutex_;
  std::map<int, int> values_;
  std::map<int, std::vector<std::pair<int, RemotePromise<int>>>> waiting_;
  std::map<int, std::uint64_t> received_;  // messages by source
  std::vector<std::uint64_t> sent_;        // by home
  // The last members: their handlers use the others.
  shoal::ActiveMessage<int, int, std::uint64_t> add_;
  shoal::ActiveMessage<int, int, RemotePromise<int>> reach_;
  shoal::RemoteFunction<int, int> value_;
};
// [/model]

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    Counters counters(world);
    for (int i = 0; i < 100; ++i) counters.add(i % 5, 1);
    const int sum = counters.reach(2, 20 * world.size()).get();
    shoal::Future<int> more = counters.reach(3, 20 * world.size() + 1);
    try {
      world.wait();
      return 1;
    } catch (const shoal::StuckError& error) {  // one is missing for ever
      if (world.rank() == 0) std::printf("%s\n", error.what());
    }
    if (world.rank() == 0) counters.add(3, 1);
    const int last = more.get();
    const int same = counters.value(3).get();
    world.wait();  // no messages are left when the counters end
    if (world.rank() == 0) std::printf("%d and %d\n", sum, last);
    return sum == 20 * world.size() && last == sum + 1 && same == last ? 0 : 1;
  });
}
