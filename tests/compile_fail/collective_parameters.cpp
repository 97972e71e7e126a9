// expect: shoal: the parameters of the operation are smaller than the collective's type
// lines: <= 16
#include <shoal/shoal.hpp>

#include <functional>

double sum(shoal::World& world, double own) { return world.allreduce(own, std::plus<int>()); }
