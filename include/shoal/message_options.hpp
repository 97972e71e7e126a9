#pragma once
// Where the handlers of messages run, and other options of them.

#include <shoal/detail/base/language.hpp>

#include <cstdint>
#include <string>

namespace shoal {

/// Kind of context in which a handler runs.
enum class Delivery : std::uint8_t {
  inlined,  // in progress context: at once, short, must not block
  task,     // as a task of its own, with a priority; may take long
};

/// Options of an instance handler.
struct AmOptions {
  /// Kind of context in which the handler runs.
  Delivery delivery = Delivery::inlined;
  int priority = 0;  // of the tasks, with Delivery::task
  /// Name in reports; default: the type of the handler. It is the same on all ranks: a handler of
  /// another name refuses the message.
  std::string name{};
  /// The handler's messages are ordered among themselves only. While they wait on a rank that has
  /// not made the handler yet, they do not hold back messages of other handlers, nor do those hold
  /// back them.
  bool own_order = false;
};

}  // namespace shoal
