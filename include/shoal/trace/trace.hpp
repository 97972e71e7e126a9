#pragma once
// The name that <shoal/trace.hpp> had in 0.1.

#include <shoal/trace.hpp>  // IWYU pragma: export
