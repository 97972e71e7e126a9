// Teams work apart: each has its own ranks, handlers, graphs and wait(), and its own failures.

#include <shoal/shoal.hpp>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>

namespace {

/// Sums 1 to 100, each number on another rank of the team; every member gets the sum.
int sum_around(shoal::Team& team) {
  int sum = 0;
  shoal::TaskGraph<int> graph(team, "ring");
  const auto next = team.make_am([&](int k) { graph.fulfill(k); });
  graph.set_indegree([](int) { return 1; }).set_mapping([](int) { return 0; }).set_task([&](int k) {
    sum += k;
    if (k < 100) next.send(shoal::Rank((k + 1) % team.size()), k + 1);  // a rank of the team
  });
  if (team.rank() == 1 % team.size()) graph.fulfill(1);
  team.wait();  // for the tasks and messages of this team only
  return team.allreduce(sum, std::plus<>());
}

/// A failure ends the team that it happens in, and is thrown where its members wait.
bool fails_alone(shoal::World& world) {
  shoal::Team first(world, {shoal::Rank(0)}, "first");
  if (!first.is_member()) return true;
  first.spawn([] { throw std::runtime_error("no such tile"); });
  try {
    first.wait();
  } catch (const shoal::TaskError& error) {
    std::printf("%s\n", error.what());
    return true;
  }
  return false;
}

/// Runs on each member of a team that one rank makes.
void count_members(shoal::Team& team, const std::string& name) {
  const int members = team.allreduce(1, std::plus<>());
  if (team.rank() == 0) std::printf("%s: %d members\n", name.c_str(), members);
}

/// The last rank makes a team of every second rank, and waits for the end of its work.
void launch_from_one_rank(shoal::World& world) {
  if (world.rank() != world.size() - 1) return;
  const auto every_second = shoal::RankSet::range(shoal::Rank(0), (world.size() + 1) / 2, 2);
  world.launch_team(every_second, shoal::am<count_members>, std::string("every second")).get();
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    // [split]
    // Collective: the ranks that give the same colour make a team.
    const int colour = world.rank() % 2;
    shoal::Team half = world.split(colour, 0, colour == 0 ? "even" : "odd");
    // [/split]
    const int sum = sum_around(half);  // the two teams do not wait for each other
    if (half.rank() == 0) std::printf("ranks %d, ...: sum %d\n", world.rank().value(), sum);

    launch_from_one_rank(world);

    const bool good = sum == 5050 && fails_alone(world);
    world.wait();
    return good ? 0 : 1;
  });
}
