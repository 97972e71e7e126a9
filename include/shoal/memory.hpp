#pragma once
// Global memory: <shoal/shoal.hpp> does without it, since not every program needs it.

#include <shoal/global_memory.hpp>
#include <shoal/global_var.hpp>
#include <shoal/global_vector.hpp>
#include <shoal/object_cache.hpp>
#include <shoal/shoal.hpp>
