#pragma once
// All of shoal, for programs. (Programs that call MPI themselves include <shoal/mpi.hpp> as well.)

#include <shoal/error.hpp>          // IWYU pragma: export
#include <shoal/immutable.hpp>      // IWYU pragma: export
#include <shoal/large_message.hpp>  // IWYU pragma: export
#include <shoal/message.hpp>        // IWYU pragma: export
#include <shoal/rank.hpp>           // IWYU pragma: export

#include <shoal/compute.hpp>        // IWYU pragma: export
#include <shoal/deadline.hpp>       // IWYU pragma: export
#include <shoal/event/events.hpp>   // IWYU pragma: export
#include <shoal/flow.hpp>           // IWYU pragma: export
#include <shoal/full_empty.hpp>     // IWYU pragma: export
#include <shoal/graph.hpp>          // IWYU pragma: export
#include <shoal/outputs.hpp>        // IWYU pragma: export
#include <shoal/run.hpp>            // IWYU pragma: export
#include <shoal/shared_future.hpp>  // IWYU pragma: export
#include <shoal/sleep.hpp>          // IWYU pragma: export
#include <shoal/sync.hpp>           // IWYU pragma: export
#include <shoal/task_group.hpp>     // IWYU pragma: export
#include <shoal/when.hpp>           // IWYU pragma: export
#include <shoal/world.hpp>          // IWYU pragma: export

#include <shoal/deprecated.hpp>  // IWYU pragma: export
