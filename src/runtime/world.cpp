#include <shoal/runtime/world.hpp>

#include <shoal/base/check.hpp>

namespace shoal {

Stats World::stats() const {
  const messaging::Messenger::Statistics messages = messenger().statistics();
  return {scheduler().tasks_run(), messages.messages_sent, messages.messages_received,
          messages.bytes_sent};
}

void World::barrier() {
  static_cast<void>(parts_.collectives->all_reduce(
      "barrier()", {}, [](const coll::Bytes&, const coll::Bytes&) { return coll::Bytes(); }));
}

void World::fulfill(const RemotePromise<void>& promise) {
  send(am<&World::accept_void>, Rank(promise.rank), promise.number);
}

void World::accept_void(World& world, std::uint64_t number) {
  world.promises_.take<void>(number).set_value();
}

void World::submit(std::unique_ptr<sched::Task> task, const TaskOptions& options) {
  task->priority = options.priority;
  if (options.worker.has_value()) {
    const int worker = *options.worker;
    SHOAL_CHECK(worker >= 0 && worker < worker_count(),
                "task '{}' is for worker {}: this rank has workers 0 to {}", options.name, worker,
                worker_count() - 1);
    task->worker = static_cast<std::int16_t>(worker);
  }
  SHOAL_CHECK(!options.bound || options.worker.has_value(),
              "task '{}' is bound to no worker: set `worker` as well", options.name);
  task->bound = options.bound;
  scheduler().submit(std::move(task));
}

}  // namespace shoal
