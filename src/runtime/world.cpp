#include <shoal/runtime/world.hpp>

namespace shoal {

Stats World::stats() const {
  const messaging::Messenger& messenger = scope().messenger();
  const messaging::Messenger::Statistics messages = messenger.statistics();
  return {scope().scheduler().tasks_run(), messages.messages_sent, messages.messages_received,
          messages.bytes_sent};
}

}  // namespace shoal
