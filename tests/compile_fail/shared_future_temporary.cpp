// expect: shoal: get\(\) of a temporary SharedFuture copies the value
// lines: <= 12
#include <shoal/shoal.hpp>

#include <memory>

int take(shoal::World& world) {
  return *world.async([] { return std::make_unique<int>(1); }).share().get();
}
