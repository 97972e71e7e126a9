#include "flow/dag.hpp"

#include <shoal/detail/sched/dependencies.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "sched/traced.hpp"
#include "trace/insertion.hpp"

namespace shoal::flow {

// Tasks that were inserted while nothing was recorded have no identifier: nothing is known of them.
// A FlowTask that is never submitted is a join in traces: the tasks that wait for it wait for all
// that it waits for.
void Dependencies::add(FlowTask& task, std::span<Instance* const> held,
                       const std::source_location& place) {
  if (!task.is_scheduled()) {
    const std::uint64_t join = sched::new_join();
    add(task, join, [join](std::uint64_t other) { sched::record_fulfilled(join, other); });
    return;
  }
  if (trace::on<trace::Category::task>()) {
    sched::traced::created(task);
    trace::describe_insertion(task.trace_id, task.plain_name(), place);
  }
  add(task, task.trace_id, [&](std::uint64_t other) { sched::traced::needs(task, other); });
  const sync::Lock lock(mutex_);
  for (const Instance* const instance : held) {
    orders_[instance].add(Mode::read_write, task.trace_id, [](std::uint64_t /*other*/) {});
  }
}

void Dependencies::add(const FlowTask& task, std::uint64_t id,
                       FunctionRef<void(std::uint64_t other)> need) {
  const sync::Lock lock(mutex_);
  for (const Access& access : task.accesses()) {
    if (access.instance == nullptr || access.mode == Mode::scratch) continue;
    orders_[access.instance].add(access.mode, id, need);
  }
}

void Dependencies::forget(const Instance& instance) {
  const sync::Lock lock(mutex_);
  orders_.erase(&instance);
}

namespace {

std::string quoted(std::string_view text) {
  std::string all;
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all;
}

}  // namespace

Dag::Dag(std::string path, const std::string& flow)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (file_ == nullptr) {
    throw Error(fmt::format("--flow-dag {}: this file cannot be created: {}", path_,
                            std::generic_category().message(errno)));
  }
  put(fmt::format("digraph \"{}\" {{\n  node [shape=box];\n", quoted(flow)));
}

void Dag::finish() {
  put("}\n");
  const bool is_whole = std::ferror(file_.get()) == 0;
  if (std::fclose(file_.release()) != 0 || !is_whole) {
    throw Error(fmt::format(
        "--flow-dag {}: this file cannot be written, and is not whole: is there room?", path_));
  }
}

void Dag::add(std::string_view name, std::span<const Request> requests, int rank) {
  const sync::Lock lock(mutex_);
  const std::uint64_t task = ranks_.size();
  ranks_.push_back(rank);
  std::string accesses;
  for (const Request& request : requests) {
    accesses += fmt::format("{}{} {}", accesses.empty() ? "" : ", ", name_of(request.mode),
                            request.handle->name());
  }
  put(fmt::format("  t{} [label=\"{}\\n{}\\nrank {}\"];\n", task, quoted(name), quoted(accesses),
                  rank));
  for (const Request& request : requests) add_access(task, request, rank);
}

// A read gets the value of the last task that has written it, or the initial one of the owner.
void Dag::add_access(std::uint64_t task, const Request& request, int rank) {
  const Handle& handle = *request.handle;
  Datum& datum = data_[handle.id];
  const int source = datum.writer != 0 ? ranks_[datum.writer] : handle.owner;
  const bool is_transfer = reads(request.mode) && source != rank;
  if (is_transfer && datum.writer == 0 && !datum.has_node) {
    datum.has_node = true;
    put(fmt::format("  d{} [label=\"{}\\nrank {}\" shape=ellipse];\n", handle.id,
                    quoted(handle.name()), source));
  }
  if (is_transfer) {
    const std::string from =
        datum.writer != 0 ? fmt::format("t{}", datum.writer) : fmt::format("d{}", handle.id);
    add_transfer(from, task, handle, source, rank);
  }
  datum.order.add(request.mode, task, [&](std::uint64_t other) {
    if (!is_transfer || other != datum.writer) put(fmt::format("  t{} -> t{};\n", other, task));
  });
  if (writes(request.mode)) datum.writer = task;
}

void Dag::add_transfer(const std::string& from, std::uint64_t to, const Handle& handle, int source,
                       int target) {
  put(fmt::format("  {} -> t{} [style=dashed label=\"{}, {} B, rank {} to {}\"];\n", from, to,
                  quoted(handle.name()), handle.size_bytes(), source, target));
}

}  // namespace shoal::flow
