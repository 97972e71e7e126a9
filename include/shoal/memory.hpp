#pragma once
// Global memory: <shoal/shoal.hpp> does without it, since not every program needs it.

#include <shoal/memory/global_memory.hpp>
#include <shoal/memory/global_var.hpp>
#include <shoal/memory/global_vector.hpp>
#include <shoal/memory/object_cache.hpp>
#include <shoal/shoal.hpp>
