#include "common/conclude.hpp"

#include <cstdio>
#include <functional>

namespace apps {

int conclude(shoal::World& world, bool good, const std::string& line) {
  const bool all_good = world.allreduce(good ? 1 : 0, std::multiplies<>()) == 1;
  if (world.rank() == 0) std::printf("%s; %s\n", line.c_str(), all_good ? "verified" : "WRONG");
  return all_good ? 0 : 1;
}

}  // namespace apps
