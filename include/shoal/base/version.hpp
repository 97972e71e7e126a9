#pragma once
// The name that <shoal/version.hpp> had in 0.1.

#include <shoal/version.hpp>  // IWYU pragma: export
