#include <shoal/world.hpp>

#include "sched/inspector.hpp"
#include "team/message_report.hpp"

namespace shoal {

Statistics World::statistics() const {
  const messaging::Messenger& messenger = scope().messenger();
  const messaging::MessageStatistics messages = messaging::statistics_of(messenger);
  return {scope().scheduler().inspector().tasks_run(), messages.messages_sent,
          messages.messages_received, messages.bytes_sent};
}

void World::end_run() {
  Team::end_run();
  parts_.args = {};
}

Team* World::find(const TeamHandle& handle) { return find_member(handle); }

}  // namespace shoal
