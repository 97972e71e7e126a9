#pragma once
// Distributed objects and the invocation of their methods on other ranks.

#include <shoal/object/algorithms.hpp>          // IWYU pragma: export
#include <shoal/object/composed_array.hpp>      // IWYU pragma: export
#include <shoal/object/construct.hpp>           // IWYU pragma: export
#include <shoal/object/distributed_array.hpp>   // IWYU pragma: export
#include <shoal/object/distributed_map.hpp>     // IWYU pragma: export
#include <shoal/object/distributed_object.hpp>  // IWYU pragma: export
#include <shoal/object/executor.hpp>            // IWYU pragma: export
#include <shoal/object/external.hpp>            // IWYU pragma: export
#include <shoal/object/futures.hpp>             // IWYU pragma: export
#include <shoal/object/handle.hpp>              // IWYU pragma: export
#include <shoal/object/invoker.hpp>             // IWYU pragma: export
#include <shoal/object/tunnel.hpp>              // IWYU pragma: export
