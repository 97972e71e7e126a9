#pragma once
// Tasks driven by events.

#include <shoal/event/event.hpp>   // IWYU pragma: export
#include <shoal/event/events.hpp>  // IWYU pragma: export
