// expect: shoal: the number of arguments differs from the handler's parameters
#include <shoal/shoal.hpp>

void greet(shoal::World& /*world*/, int /*a*/) {}

void send(shoal::World& world) { world.send(shoal::Rank(0), shoal::am<greet>, 1, 2); }
