// Names that errors and reports use.
#include <shoal/shoal.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    int total = 0;
    const auto add = world.make_am([&](int n) { total += n; }, {.name = "add"});
    if (world.rank() == 0) add.send(shoal::Rank(0), 41);
    shoal::Mutex ledger("ledger");
    shoal::Promise<int> column("column 3");
    shoal::Future<int> value = column.future();
    world.spawn([&ledger] { const std::scoped_lock lock(ledger); }, {.name = "reader"});
    world.spawn([&column] { column.set_value(1); }, {.name = "assemble"});
    const int one = value.get();
    world.wait();
    if (world.rank() == 0) std::printf("%d\n", total + one);
  });
}
