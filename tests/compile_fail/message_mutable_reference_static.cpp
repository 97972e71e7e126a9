// expect: shoal: a handler cannot take a non-const reference
#include <shoal/shoal.hpp>

void add(shoal::World& /*world*/, int& /*value*/) {}

void send(shoal::World& world) { world.send(shoal::Rank(0), shoal::am<add>, 1); }
