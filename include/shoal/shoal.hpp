#pragma once
// All of shoal, for programs. (Programs that call MPI themselves include <shoal/mpi.hpp> as well.)

#include <shoal/am/active_message.hpp>    // IWYU pragma: export
#include <shoal/am/immutable.hpp>         // IWYU pragma: export
#include <shoal/am/large_message.hpp>     // IWYU pragma: export
#include <shoal/base/error.hpp>           // IWYU pragma: export
#include <shoal/base/ids.hpp>             // IWYU pragma: export
#include <shoal/event/events.hpp>         // IWYU pragma: export
#include <shoal/flow/flow.hpp>            // IWYU pragma: export
#include <shoal/graph/outputs.hpp>        // IWYU pragma: export
#include <shoal/graph/task_graph.hpp>     // IWYU pragma: export
#include <shoal/runtime/run.hpp>          // IWYU pragma: export
#include <shoal/runtime/world.hpp>        // IWYU pragma: export
#include <shoal/sched/compute.hpp>        // IWYU pragma: export
#include <shoal/sched/full_empty.hpp>     // IWYU pragma: export
#include <shoal/sched/locks.hpp>          // IWYU pragma: export
#include <shoal/sched/shared_future.hpp>  // IWYU pragma: export
#include <shoal/sched/sleep.hpp>          // IWYU pragma: export
#include <shoal/sched/task_group.hpp>     // IWYU pragma: export
#include <shoal/sched/when.hpp>           // IWYU pragma: export
