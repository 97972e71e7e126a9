// expect: shoal: type T cannot travel in a message: make it trivially copyable or give it serialize\(archive\)
#include <shoal/shoal.hpp>

struct File {
  ~File() {}
};

void make(shoal::World& world) {
  auto message = world.make_am([](const File& /*file*/) {});
  message.send(shoal::Rank(0), File());
}
