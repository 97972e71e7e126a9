# Planted bugs of global memory that its random programs must find: see shoal_add_mutant().

shoal_add_mutant_reference(random_memory_program SEEDS 100)

# Signals: a task of its own writes the data, so that messages behind the put overtake it.
shoal_add_mutant(
  memory_signal memory/remote.cpp
  "named(\"put\")),"
  "AmOptions{Delivery::task}),"
  PROGRAM random_memory_program)

# Fences: quiet() does not wait for the puts.
shoal_add_mutant(
  memory_fence memory/remote.cpp
  "complete.get();"
  ""
  PROGRAM random_memory_program)

# Caches: an object that was invalidated while it was fetched is kept as it was.
shoal_add_mutant(
  memory_invalidation memory/cache_core.cpp
  "remove(key);
  current_.erase(key);"
  "remove(key);"
  PROGRAM random_memory_program)
