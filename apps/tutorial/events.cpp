// Tasks driven by events, as in the EDAT paper: a task says which events it needs, and from where.

#include <shoal/shoal.hpp>

#include <vector>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    shoal::Events events(world);
    const int size = world.size();

    // A reduction: rank 0 runs this once it has a number from every rank, in the order of ranks.
    if (world.rank() == 0) {
      events.submit({{shoal::all, "part"}}, [&](shoal::EventList& parts) {
        int sum = 0;
        for (const shoal::Event& part : parts) sum += part.get<int>();
        events.fire(shoal::all, "sum", sum);
      });
    }
    events.fire(shoal::Rank(0), "part", world.rank() + 1);
    // [sum]
    int sum = 0;
    events.submit({{shoal::Rank(0), "sum"}},
                  [&](shoal::EventList& list) { sum = list[0].get<int>(); });
    // [/sum]

    // A persistent task runs as often as its events come: here whenever any rank sends a value.
    // There is one event "data": only the task that has it uses the vector that it points to.
    std::vector<int> data;
    events.submit({{shoal::self, "data"}, {shoal::any, "value"}},
                  [&](shoal::EventList& list) {
                    auto* const mine = list[0].address<std::vector<int>>();
                    mine->push_back(list[1].get<int>());
                    events.fire_address(shoal::self, "data", mine);
                  },
                  {.name = "collect", .persistent = true});
    events.fire_address(shoal::self, "data", &data);
    events.fire(shoal::all, "value", int{world.rank()});

    // Returns when all tasks have run and all events were taken; a persistent task may go on
    // waiting. If anything else waits for ever, this throws an error that names it.
    world.wait();
    return sum == size * (size + 1) / 2 && data.size() == static_cast<std::size_t>(size) ? 0 : 1;
  });
}
