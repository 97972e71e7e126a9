#pragma once
// Distributed objects and the invocation of their methods on other ranks.

#include <shoal/distributed_object.hpp>  // IWYU pragma: export

#include <shoal/composed_array.hpp>     // IWYU pragma: export
#include <shoal/construct.hpp>          // IWYU pragma: export
#include <shoal/distributed_array.hpp>  // IWYU pragma: export
#include <shoal/distributed_map.hpp>    // IWYU pragma: export
#include <shoal/executor.hpp>           // IWYU pragma: export
#include <shoal/external_thread.hpp>    // IWYU pragma: export
#include <shoal/futures.hpp>            // IWYU pragma: export
#include <shoal/handle.hpp>             // IWYU pragma: export
#include <shoal/invoker.hpp>            // IWYU pragma: export
#include <shoal/object_algorithms.hpp>  // IWYU pragma: export
#include <shoal/tunnel.hpp>             // IWYU pragma: export
