// expect: shoal: a floating-point argument would lose its fraction
// lines: <= 16
#include <shoal/shoal.hpp>

int twice(int x) { return 2 * x; }

int make(shoal::World& world) { return world.call(shoal::Rank(0), shoal::am<twice>, 0.5).get(); }
