// expect: the function of an event task takes a shoal::EventList& or nothing
// lines: <= 12
#include <shoal/event.hpp>

void submit(shoal::Events& events) {
  events.submit({{shoal::any, "a"}}, [](int number) { static_cast<void>(number); });
}
