#include "edat_api/calls.hpp"

#include "edat_api/process.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>

namespace shoal::edat_api {

namespace {

void check_rank(const Program& program, int rank, const std::string& who) {
  const int size = program.world().size();
  if (rank >= 0 && rank < size) return;
  throw CheckError(fmt::format("{} rank {}: the ranks are 0 to {}", who, rank, size - 1));
}

bool is_special(int peer) { return peer == EDAT_ALL || peer == EDAT_ANY || peer == EDAT_SELF; }

/// Size of one element; 0 for EDAT_NOTYPE.
std::size_t size_of_element(const Program& program, const std::string& event, int type) {
  if (type == EDAT_NOTYPE) return 0;
  if (travels_as_address(type, program.addresses())) return 0;
  if (type == EDAT_ADDRESS) return sizeof(char*);
  const std::size_t size = c_api::element_size(type);
  if (size > 0) return size;
  throw CheckError(fmt::format(
      "\"{}\": {} is not a type: there are EDAT_NOTYPE (0), EDAT_INT (1), EDAT_FLOAT (2), "
      "EDAT_DOUBLE (3), EDAT_BYTE (4), EDAT_ADDRESS (5), EDAT_LONG (6), and types that "
      "edatDefineContext returned",
      event, type));
}

}  // namespace

void check_dependency_count(int count) {
  if (count < 0) throw CheckError(fmt::format("the number of dependencies is {}", count));
}

EventDependency to_dependency(const Program& program, int source, const char* event_id) {
  std::string event = text_of(event_id, "an event identifier");
  if (!is_special(source)) {
    check_rank(program, source, fmt::format("\"{}\" cannot come from", event));
  }
  return {c_api::to_peer(source), std::move(event)};
}

std::vector<EventDependency> to_dependencies(const Program& program, int count, const int* sources,
                                             const char* const* event_ids) {
  check_dependency_count(count);
  std::vector<EventDependency> dependencies;
  dependencies.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int source = (&given(sources, "the array of sources"))[i];
    const char* const event_id = (&given(event_ids, "the array of event identifiers"))[i];
    dependencies.push_back(to_dependency(program, source, event_id));
  }
  return dependencies;
}

void check_options(const EventTaskOptions& options,
                   const std::vector<EventDependency>& dependencies) {
  if (options.persistent && dependencies.empty()) {
    throw CheckError("a persistent task that depends on nothing would run for ever");
  }
  if (options.greedy && !options.persistent) {
    throw CheckError("a greedy task has to be persistent");
  }
}

EventPeer to_target(const Program& program, int target, const std::string& event) {
  const std::string who = fmt::format("\"{}\" cannot be fired to", event);
  if (target == EDAT_ANY) {
    throw CheckError(who + " EDAT_ANY: name a rank, EDAT_SELF or EDAT_ALL");
  }
  if (!is_special(target)) check_rank(program, target, who);
  return c_api::to_peer(target);
}

RawPayload to_payload(const Program& program, const std::string& event, int type, int count,
                      const void* const* data) {
  if (count < 0) {
    throw CheckError(fmt::format("the number of elements of \"{}\" is {}", event, count));
  }
  RawPayload payload{type, static_cast<std::size_t>(count), {}};
  if (type >= c_api::Contexts::kFirstType && !process().contexts.is_defined(type)) {
    throw CheckError(fmt::format("\"{}\": {} is not a type: edatDefineContext has not returned it",
                                 event, type));
  }
  if (travels_as_address(type, program.addresses())) {
    payload.bytes = std::as_bytes(std::span(data, 1));
    return payload;
  }
  const std::size_t size = size_of_element(program, event, type);
  if (size == 0) {
    payload.count = 0;
    return payload;
  }
  if (*data == nullptr && count > 0) {
    throw CheckError(fmt::format("\"{}\" has {} element{}, but the data are NULL", event, count,
                                 count == 1 ? "" : "s"));
  }
  payload.bytes = {static_cast<const std::byte*>(*data), payload.count * size};
  return payload;
}

void* create_context(int type) {
  if (!process().contexts.is_defined(type)) {
    throw CheckError(fmt::format(
        "{} is not the type of a context: edatDefineContext has not returned it", type));
  }
  return process().contexts.create(type);
}

void submit_task(Program& program, void (*task)(EDAT_Event*, int), const EventTaskOptions& options,
                 const std::vector<EventDependency>& dependencies) {
  given(task, "the task's function");
  check_options(options, dependencies);
  program.events().submit(
      dependencies,
      [task, addresses = program.addresses()](EventList& events) {
        Shown shown(events, addresses);
        task(shown.events(), shown.count());
      },
      options);
}

}  // namespace shoal::edat_api
