// Slips with distributed objects and teams.

#include <shoal/object.hpp>
#include <shoal/shoal.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "slips.hpp"

namespace {

using shoal::DistributedObject;
using shoal::Rank;
using shoal::Team;
using shoal::World;

class Account : public DistributedObject<Account> {
 public:
  explicit Account(Team& team) : DistributedObject(team) {}
  virtual ~Account() = default;
  void deposit(long amount) { balance_ += amount; }
  [[nodiscard]] long balance() const { return balance_; }
  void overdraw() { throw std::runtime_error("no money"); }
  void ask_back(Rank from) { balance_ += sync<&Account::balance>(from); }

 private:
  long balance_ = 0;
};

class Savings : public Account {
 public:
  using Account::Account;
  void add_interest() { ++years_; }

 private:
  int years_ = 0;
};

class Diary : public DistributedObject<Diary> {
 public:
  explicit Diary(Team& team) : DistributedObject(team) {}
  void write(const std::string& line) { text_ += line; }

 private:
  std::string text_;
};

class Torn : public DistributedObject<Torn> {
 public:
  explicit Torn(Team& team) : DistributedObject(team) {
    if (team.rank() == 1) throw std::runtime_error("page 1 is torn");
  }
};

class Waiter : public DistributedObject<Waiter> {
 public:
  explicit Waiter(Team& team) : DistributedObject(team), order_("the order") {}
  void wait_for_order() { (void)order_.future().get(); }

 private:
  shoal::Promise<int> order_;
};

void classes_swapped(World& world) {
  if (world.rank() == 0) {
    Account account(world);
    Diary diary(world);
    account.async<&Account::deposit>(Rank(1), 5);
    world.wait();
  } else {
    Diary diary(world);
    Account account(world);
    world.wait();
  }
}

void method_throws(World& world) {
  Account account(world);
  if (world.rank() == 0) account.async<&Account::overdraw>(Rank(1));
  account.fence();
}

void error_of_a_constructed_object(World& world) {
  if (world.rank() == 0) {
    const auto handle = shoal::construct<Account>(world, {Rank(0), Rank(1)}).get();
    handle.async<&Account::overdraw>(Rank(1));
  }
  world.wait();
}

void constructor_throws(World& world) {
  if (world.rank() == 0) (void)shoal::construct<Torn>(world, {Rank(0), Rank(1)}).get();
  world.wait();
}

void fence_forgotten(World& world) {
  {
    Account account(world);
    if (world.rank() == 0) {
      world.barrier();
      account.async<&Account::deposit>(Rank(1), 5);
    }
  }
  if (world.rank() == 1) world.barrier();
  world.wait();
}

void used_after_deletion(World& world) {
  if (world.rank() == 0) {
    const auto handle = shoal::construct<Account>(world, {Rank(0), Rank(1)}).get();
    shoal::ObjectDeleter<Account>()(handle);
    handle.sync<&Account::deposit>(Rank(1), 5);
  }
  world.wait();
}

void async_after_deletion(World& world) {
  if (world.rank() == 0) {
    const auto handle = shoal::construct<Account>(world, {Rank(0), Rank(1)}).get();
    shoal::ObjectDeleter<Account>()(handle);
    handle.async<&Account::deposit>(Rank(1), 5);
  }
  world.wait();
}

void result_of_a_method_dropped(World& world) {
  Account account(world);
  if (world.rank() == 0) {
    const auto result = account.call<&Account::overdraw>(Rank(1));
    result.wait();
  }
  account.fence();
}

void handle_of_a_constructor_dropped(World& world) {
  if (world.rank() == 0) {
    const auto handle = shoal::construct<Torn>(world, {Rank(0), Rank(1)});
  }
  world.wait();
}

void made_on_one_rank(World& world) {
  if (world.rank() == 0) {
    Account account(world);
    account.async<&Account::deposit>(Rank(1), 5);
    world.wait();
  } else {
    world.wait();
  }
}

void epoch_never_comes(World& world) {
  Account account(world);
  if (world.rank() == 0) {
    account.advance_epoch();
    account.async<&Account::deposit>(Rank(1), 5);
  }
  world.wait();
}

void sync_in_handler(World& world) {
  Account account(world);
  const auto am = world.make_am([&](int) { (void)account.sync<&Account::balance>(Rank(0)); },
                                {.name = "audit"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  account.fence();
}

void poll_without_end(World& world) {  // nobody sets what this waits for
  Account account(world);
  if (world.rank() == 1) {
    while (account.balance() == 0) shoal::yield();
  }
  account.fence();
}

void object_made_in_handler(World& world) {
  const auto am = world.make_am([&](int) { Account account(world); }, {.name = "open"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void two_tasks_in_collectives(World& world) {
  Team team(world, {Rank(0), Rank(1)}, "pair");
  if (world.rank() == 1) {
    team.spawn([&] { team.barrier(); }, {.name = "one"});
    team.spawn([&] { team.barrier(); }, {.name = "two"});
  }
  team.wait();
  world.wait();
}

void deleted_while_it_waits(World& world) {
  auto waiter = std::make_unique<Waiter>(world);
  if (world.rank() == 0) waiter->async<&Waiter::wait_for_order>(Rank(1));
  world.barrier();
  for (int i = 0; i < 100; ++i) shoal::yield();
  shoal::sleep_for(std::chrono::milliseconds(20));
  waiter.reset();
  world.wait();
}

void answer_never_comes(World& world) {
  Waiter waiter(world);
  if (world.rank() == 0) waiter.async<&Waiter::wait_for_order>(Rank(1));
  waiter.fence();
}

void cast_to_another_class(World& world) {
  Account account(world);
  if (world.rank() == 0) account.async<&Savings::add_interest>(Rank(1));
  account.fence();
}

void invoked_on_no_rank(World& world) {
  Account account(world);
  if (world.rank() == 1) account.async<&Account::deposit>(Rank(world.size()), 5);
  account.fence();
}

void called_on_no_rank(World& world) {
  Account account(world);
  if (world.rank() == 1) (void)account.sync<&Account::balance>(Rank(-1));
  account.fence();
}

void tunnel_to_no_rank(World& world) {
  Account account(world);
  if (world.rank() == 1) {
    auto deposit = shoal::bind<&Account::deposit>(account, shoal::any_rank);
    deposit(Rank(world.size()), 5);
  }
  account.fence();
}

void sync_throws(World& world) {
  Account account(world);
  if (world.rank() == 0) account.sync<&Account::overdraw>(Rank(1));
  account.fence();
}

class Counter : public DistributedObject<Counter> {
 public:
  explicit Counter(Team& team) : DistributedObject(team) {}
  void set(int count) { count_ = count; }

 private:
  int count_ = 0;
};

void argument_too_large(World& world) {
  Counter counter(world);
  if (world.rank() == 1) counter.async<&Counter::set>(Rank(0), 5'000'000'000L);
  counter.fence();
}

void argument_from_outside_too_large(World& world) {
  Team first(world, {Rank(0)}, "first");
  std::unique_ptr<Counter> counter;
  shoal::Handle<Counter> handle;
  if (first.is_member()) {
    counter = std::make_unique<Counter>(first);
    handle = counter->handle();
  }
  handle = world.broadcast(handle, Rank(0));
  if (world.rank() == 1) handle.async<&Counter::set>(Rank(0), 5'000'000'000L);
  world.wait();
}

void task_argument_too_large(World& world) {
  shoal::Executor executor(world);
  if (world.rank() == 1) executor.spawn<[](int) {}>(5'000'000'000L);
  executor.wait();
}

void element_too_large(World& world) {
  shoal::DistributedArray<int> array(world, 10);
  if (world.rank() == 1) array.set(10, 1);
  array.fence();
}

void range_too_large(World& world) {
  shoal::DistributedArray<int> array(world, 10);
  if (world.rank() == 1) (void)array.get_range(8, 3).get();
  array.fence();
}

void array_sizes_differ(World& world) {
  shoal::DistributedArray<int> array(world, world.rank() == 0 ? 10 : 20);
  if (world.rank() == 1) array.set(7, 5);  // on rank 0 of 20 elements, on rank 1 of 10
  array.fence();
}

void array_distributions_differ(World& world) {
  shoal::DistributedArray<int> array(world, world.rank() == 0
                                                ? shoal::Distribution::cyclic(10, world.size())
                                                : shoal::Distribution::balanced(10, world.size()));
  if (world.rank() == 1) (void)array.get_range(0, 3).get();
  array.fence();
}

void inner_sizes_differ(World& world) {
  const std::size_t size = world.rank() == 0 ? 4 : 8;
  shoal::DistributedArray<shoal::DistributedArray<int>> array(world, {3, size});
  if (world.rank() == 1) array.set(1, 3, 5);
  array.fence();
}

void members_in_another_order(World& world) {
  const Rank first(world.rank());
  Team pair(world, {first, Rank(1 - first)}, "pair");
  (void)pair.broadcast(1, Rank(0));
  pair.wait();
  world.wait();
}

void one_member_too_many(World& world) {
  std::vector<Rank> ranks{Rank(0)};
  if (world.rank() == 1) ranks.emplace_back(1);
  Team team(world, ranks, "first");
  if (team.is_member()) team.barrier();
  world.wait();
}

void executor_wait_forgotten(World& world) {
  shoal::Executor executor(world);
  if (world.rank() == 1) {
    for (int i = 0; i < 50; ++i) {
      executor.spawn([] { shoal::sleep_for(std::chrono::milliseconds(1)); });
    }
  }
}

void inner_executor_wait_forgotten(World& world) {
  shoal::Executor outer(world);
  Team team(world, {Rank(0), Rank(1)}, "inner");
  {
    shoal::Executor inner(team, outer);
    if (world.rank() == 1) {
      for (int i = 0; i < 20; ++i) {
        inner.spawn([] { shoal::sleep_for(std::chrono::milliseconds(1)); });
      }
    }
  }
  outer.wait();
}

void used_by_no_member(World& world) {
  Team first(world, {Rank(0)}, "first");
  first.barrier();
  world.wait();
}

void sent_by_no_member(World& world) {
  Team first(world, {Rank(0)}, "first");
  if (world.rank() == 1) first.spawn([] {});
  world.wait();
}

void object_of_no_member(World& world) {
  Team first(world, {Rank(0)}, "first");
  Account account(first);
  world.wait();
}

std::shared_ptr<Team> shared_team;
void keep_team(Team& team) {
  if (team.rank() == 1) shared_team = team.share();
}
void team_kept(World& world) {
  if (world.rank() == 0) {
    (void)world.launch_team({Rank(0), Rank(1)}, shoal::am<keep_team>);
  }
  world.wait();
}

void member_twice(World& world) {
  Team pair(world, {Rank(1), Rank(1)}, "pair");
  world.wait();
}

void member_out_of_range(World& world) {
  Team pair(world, {Rank(0), Rank(2)}, "pair");
  world.wait();
}

void team_names_differ(World& world) {
  Team team(world, {Rank(0), Rank(1)}, world.rank() == 0 ? "rows" : "columns");
  team.barrier();
  world.wait();
}

void team_made_in_handler(World& world) {
  const auto am = world.make_am(
      [&](int) {
        Team inner(world, {Rank(0), Rank(1)}, "inner");
      },
      {.name = "regroup"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void member_stays_away(World& world) {
  Team team(world, {Rank(0), Rank(1)}, "meeting");
  if (world.rank() == 0) team.barrier();
  world.wait();
}

void team_task_throws(World& world) {
  Team team(world, {Rank(1)}, "second");
  if (team.is_member()) {
    team.spawn([] { throw std::runtime_error("no such tile"); }, {.name = "load"});
  }
  world.wait();
}

void section_fails(Team& team) {
  if (team.rank() == 1) throw std::runtime_error("no such tile");
}

void launched_error(World& world) {
  if (world.rank() == 0) world.launch_team({Rank(0), Rank(1)}, shoal::am<section_fails>).get();
  world.wait();
}

void launched_error_dropped(World& world) {
  if (world.rank() == 0) {
    const auto end = world.launch_team({Rank(0), Rank(1)}, shoal::am<section_fails>);
  }
  world.wait();
}

void async_after_its_team(World& world) {
  shoal::Handle<Account> handle;
  {
    Team first(world, {Rank(0)}, "first");
    std::unique_ptr<Account> account;
    if (first.is_member()) {
      account = std::make_unique<Account>(first);
      handle = account->handle();
    }
  }
  if (world.rank() == 0) handle.async<&Account::deposit>(Rank(0), 5);
  world.wait();
}

void null_handle(World& world) {
  const shoal::Handle<Account> handle;
  if (world.rank() == 1) handle.async<&Account::deposit>(Rank(0), 5);
  world.wait();
}

void representative_elsewhere(World& world) {
  Team first(world, {Rank(0)}, "first");
  std::unique_ptr<Account> account;
  shoal::Handle<Account> handle;
  if (first.is_member()) {
    account = std::make_unique<Account>(first);
    handle = account->handle();
  }
  handle = world.broadcast(handle, Rank(0));
  if (world.rank() == 1) handle.get().deposit(5);
  world.wait();
}

void thread_in_simulation(World& world) {
  Account account(world);
  if (world.rank() == 1) {
    std::async(std::launch::async, [&] {
      const shoal::ExternalThread here(world);
      account.async<&Account::deposit>(Rank(0), 5);
    }).get();
  }
  account.fence();
}

shoal::Handle<Account> kept;
void after_run(World& world) {
  Account account(world);
  if (world.rank() == 0) kept = account.handle();
  account.fence();
}
void invoke_late() { kept.async<&Account::deposit>(Rank(1), 5); }

std::vector<std::unique_ptr<Account>> kept_accounts(2);  // beyond run()
void object_after_run(World& world) {
  auto& account = kept_accounts[static_cast<std::size_t>(world.rank().value())];
  account = std::make_unique<Account>(world);
  account->fence();
}
void deposit_late() { kept_accounts[0]->async<&Account::deposit>(Rank(1), 5); }

}  // namespace

int main(int argc, char** argv) {
  return run_slip(argc, argv,
                  {{"classes_swapped", classes_swapped},
                   {"method_throws", method_throws},
                   {"error_of_a_constructed_object", error_of_a_constructed_object},
                   {"constructor_throws", constructor_throws},
                   {"fence_forgotten", fence_forgotten},
                   {"used_after_deletion", used_after_deletion},
                   {"async_after_deletion", async_after_deletion},
                   {"result_of_a_method_dropped", result_of_a_method_dropped},
                   {"handle_of_a_constructor_dropped", handle_of_a_constructor_dropped},
                   {"made_on_one_rank", made_on_one_rank},
                   {"epoch_never_comes", epoch_never_comes},
                   {"sync_in_handler", sync_in_handler},
                   {"poll_without_end", poll_without_end},
                   {"object_made_in_handler", object_made_in_handler},
                   {"two_tasks_in_collectives", two_tasks_in_collectives},
                   {"deleted_while_it_waits", deleted_while_it_waits},
                   {"answer_never_comes", answer_never_comes},
                   {"cast_to_another_class", cast_to_another_class},
                   {"invoked_on_no_rank", invoked_on_no_rank},
                   {"called_on_no_rank", called_on_no_rank},
                   {"tunnel_to_no_rank", tunnel_to_no_rank},
                   {"sync_throws", sync_throws},
                   {"argument_too_large", argument_too_large},
                   {"argument_from_outside_too_large", argument_from_outside_too_large},
                   {"task_argument_too_large", task_argument_too_large},
                   {"element_too_large", element_too_large},
                   {"range_too_large", range_too_large},
                   {"array_sizes_differ", array_sizes_differ},
                   {"array_distributions_differ", array_distributions_differ},
                   {"inner_sizes_differ", inner_sizes_differ},
                   {"members_in_another_order", members_in_another_order},
                   {"one_member_too_many", one_member_too_many},
                   {"executor_wait_forgotten", executor_wait_forgotten},
                   {"inner_executor_wait_forgotten", inner_executor_wait_forgotten},
                   {"used_by_no_member", used_by_no_member},
                   {"sent_by_no_member", sent_by_no_member},
                   {"object_of_no_member", object_of_no_member},
                   {"team_kept", team_kept},
                   {"member_twice", member_twice},
                   {"member_out_of_range", member_out_of_range},
                   {"team_names_differ", team_names_differ},
                   {"team_made_in_handler", team_made_in_handler},
                   {"member_stays_away", member_stays_away},
                   {"team_task_throws", team_task_throws},
                   {"launched_error", launched_error},
                   {"launched_error_dropped", launched_error_dropped},
                   {"async_after_its_team", async_after_its_team},
                   {"null_handle", null_handle},
                   {"representative_elsewhere", representative_elsewhere},
                   {"thread_in_simulation", thread_in_simulation},
                   {"object_after_run", object_after_run, deposit_late},
                   {"after_run", after_run, invoke_late}});
}
