// expect: TravelCheck<File>.*a type cannot travel|a type cannot travel.*TravelCheck<File>
// lines: <= 45
#include <shoal/shoal.hpp>

struct File {
  ~File() {}
};

void make(shoal::World& world) {
  auto message = world.make_am([](const File& /*file*/) {});
  message.send(shoal::Rank(0), File());
}
