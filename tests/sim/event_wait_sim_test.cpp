// A program that uses everything that waits and everything that is fired, over many seeds.

#include <shoal/event.hpp>

#include "runtime/simulated_world.hpp"
#include "support/sim_config.hpp"
#include "support/sizes.hpp"

#include <shoal/sleep.hpp>
#include <shoal/world.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace event_wait_sim_test {

using namespace std::chrono_literals;

using shoal::EventList;
using shoal::Events;
using shoal::Rank;
using shoal::RemotePromise;
using shoal::World;
using shoal::runtime::SimulatedWorld;
using shoal::sim::OrderKind;
using shoal::testing::sim_config;
using shoal::testing::sized;

constexpr int kRequests = 6;  // of each rank

/// Each rank asks others to add numbers to their accounts, by events that bring a promise along. A
/// persistent task serves them: it locks the account, waits for a permit (a persistent event),
/// sleeps a little, and fulfils the promise on the rank that asked.
class Bank {
 public:
  explicit Bank(World& world) : world_(world), events_(world, "bank") {}

  void run() {
    events_.submit({{shoal::any, "deposit"}}, [this](EventList& list) { serve(list); },
                   {.name = "teller", .persistent = true});
    events_.fire_persistent(shoal::self, "permit");
    for (int i = 0; i < kRequests; ++i) {
      events_.submit({}, [this, i] { ask(i); }, {.name = "client"});
    }
    world_.wait();
    EXPECT_EQ(answers_, kRequests);
    EXPECT_EQ(static_cast<int>(events_.retrieve_any({{shoal::self, "permit"}}).size()), 1);
    const auto all = world_.allgather(balance_);
    int sum = 0;
    for (const int one : all) sum += one;
    EXPECT_EQ(sum, world_.size() * kRequests * (kRequests + 1) / 2);
  }

 private:
  struct Deposit {
    RemotePromise<int> receipt;
    int amount;
  };

  void ask(int i) {
    const Rank bank((world_.rank() + i) % world_.size());
    shoal::Promise<int> promise(world_, "receipt");
    shoal::Future<int> receipt = promise.future();
    events_.fire(bank, "deposit", Deposit{world_.publish(std::move(promise)), i + 1});
    events_.lock("answers");
    if (i % 2 == 0) {  // the lock is released meanwhile
      events_.fire_after(std::chrono::microseconds(i), shoal::self, "pause");
      static_cast<void>(events_.wait({{shoal::self, "pause"}}));
    } else {
      events_.unlock("answers");
    }
    EXPECT_GE(receipt.get(), i + 1);
    if (i % 2 != 0) events_.lock("answers");
    ++answers_;
  }

  void serve(EventList& list) {
    const auto deposit = list[0].get<Deposit>();
    events_.lock("account");
    static_cast<void>(events_.wait({{shoal::self, "permit"}}));
    const int before = balance_;
    shoal::sleep_for(3us);
    balance_ = before + deposit.amount;
    world_.fulfill(deposit.receipt, balance_);
  }

  World& world_;
  Events events_;
  int balance_ = 0;  // under the lock "account"
  int answers_ = 0;  // under the lock "answers"
};

TEST(EventWaitSimulation, WaitsLocksPersistentTasksAndRemotePromises_WorkTogether) {
  constexpr OrderKind kOrders[] = {OrderKind::time,       OrderKind::uniform,
                                   OrderKind::priorities, OrderKind::slow_rank,
                                   OrderKind::slow_link,  OrderKind::late};
  for (std::uint64_t seed = 1; seed <= sized(1000, 100); ++seed) {
    const int ranks = 2 + static_cast<int>(seed / 6 % 3);
    shoal::runtime::Config config = sim_config(ranks, 1 + static_cast<int>(seed / 18 % 3), seed);
    config.ranks_per_process = seed / 54 % 2 == 0 ? 1 : ranks;
    config.sim_order = kOrders[seed % std::size(kOrders)];
    if (seed % 5 == 0) config.sim_faults = "delay:p=0.2,by=50us";
    SimulatedWorld simulated(config);
    simulated.run([](World& world) {
      Bank(world).run();
      return 0;
    });
    for (const auto& rank : simulated.ranks()) {
      ASSERT_EQ(rank->error(), nullptr)
          << "seed " << seed << ": " << shoal::describe(rank->error());
    }
  }
}

}  // namespace event_wait_sim_test
