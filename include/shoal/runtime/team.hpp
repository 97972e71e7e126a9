#pragma once
// The name that <shoal/team.hpp> had in 0.1.

#include <shoal/team.hpp>  // IWYU pragma: export
