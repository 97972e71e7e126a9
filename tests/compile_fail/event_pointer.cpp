// expect: a raw pointer cannot travel in a message
#include <shoal/event.hpp>

void fire(shoal::Events& events, int* data) { events.fire(shoal::self, "data", data); }
