// expect: shoal: a raw pointer cannot travel in a message
#include <shoal/shoal.hpp>

void print(const char* /*text*/) {}

void send(shoal::World& world) { world.send(shoal::Rank(0), shoal::am<print>, "text"); }
