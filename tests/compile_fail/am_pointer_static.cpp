// expect: shoal: a raw pointer cannot travel in a message
#include <shoal/shoal.hpp>

void print(const char* /*text*/) {}

void send(shoal::World& world) { world.send(shoal::am<print>, shoal::Rank(0), "text"); }
