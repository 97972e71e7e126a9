#include "contention/counters.hpp"
#include "common/input_error.hpp"

namespace contention {

struct Counters::Events {};

Counters::Counters(const std::vector<std::string>& events, const std::vector<int>& /*processors*/)
    : note_("no memory counters: built without PAPI; bandwidths are bytes per time") {
  if (events.empty()) return;
  throw apps::InputError("--counters: built without PAPI; install libpapi-dev and build anew");
}

Counters::~Counters() = default;
void Counters::start() {}
std::optional<double> Counters::stop() { return std::nullopt; }

}  // namespace contention
