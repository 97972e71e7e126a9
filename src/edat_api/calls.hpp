#pragma once
// Arguments of the calls of edat.h: conversion to shoal's, and refusals in EDAT's terms.

#include "edat_api/program.hpp"

#include <shoal/event/events.hpp>

#include <string>
#include <vector>

namespace shoal::edat_api {

// All throw CheckError for invalid arguments.

void check_dependency_count(int count);
EventDependency to_dependency(const Program& program, int source, const char* event_id);
/// Makes the dependencies of arrays, which may be nullptr if there are none.
std::vector<EventDependency> to_dependencies(const Program& program, int count, const int* sources,
                                             const char* const* event_ids);
void check_options(const EventTaskOptions& options,
                   const std::vector<EventDependency>& dependencies);
EventPeer to_target(const Program& program, int target, const std::string& event);
/// The payload refers to `*data`, or, if that travels as an address, to `data`.
RawPayload to_payload(const Program& program, const std::string& event, int type, int count,
                      const void* const* data);
void* create_context(int type);

void submit_task(Program& program, void (*task)(EDAT_Event*, int), const EventTaskOptions& options,
                 const std::vector<EventDependency>& dependencies);

}  // namespace shoal::edat_api
