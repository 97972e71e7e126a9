// Data that are used in parts for a time.

#include "flow/core.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/flow.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace shoal {

namespace flow {

namespace {

/// Holds the access to the whole, and lets the accesses to the parts begin.
class PartitionTask final : public FlowTask {
 public:
  PartitionTask(Sequence& sequence, Instance& whole, std::vector<Instance*> parts)
      : FlowTask(sequence, std::span(list_)), parts_(std::move(parts)) {
    list_[0] = {.instance = &whole, .task = this, .mode = Mode::read_write};
  }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "partition"; }
  [[nodiscard]] bool keeps_accesses() const override { return true; }

 private:
  void execute() override {
    Sequence& sequence = this->sequence();
    for (Instance* const part : parts_) part->release(Mode::read_write);
    sequence.count_finished();
  }

  std::array<Access, 1> list_;
  std::vector<Instance*> parts_;
};

/// Holds the accesses to all parts, and releases the whole.
class UnpartitionTask final : public FlowTask {
 public:
  UnpartitionTask(Sequence& sequence, Instance& whole, std::vector<Access>& parts)
      : FlowTask(sequence, parts), whole_(whole), list_(std::move(parts)) {
    for (Access& access : list_) access.task = this;
  }
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "unpartition"; }

 private:
  void execute() override { whole_.release(Mode::read_write); }

  Instance& whole_;
  std::vector<Access> list_;
};

std::size_t begin_of(std::size_t size, std::size_t parts, std::size_t index) {
  return size / parts * index + std::min(index, size % parts);
}

}  // namespace

}  // namespace flow

Flow::Parts Flow::partition_request(
    const flow::Request& whole, std::size_t rows, std::size_t columns,
    FunctionRef<void*(void* object, const flow::Block& block)> cut) {
  check(whole, "partition()");
  flow::Handle& handle = *whole.handle;
  SHOAL_CHECK(!handle.partitioned, "flow '{}': partition() of '{}', which is partitioned already",
              name(), handle.name());
  SHOAL_CHECK(rows >= 1 && columns >= 1,
              "flow '{}': partition() of '{}' into {} x {} parts: there must be at least one",
              name(), handle.name(), rows, columns);
  sequence_->note("partition", &handle, -1, rows << 32U | columns);
  sequence_->settle(handle, flow::Mode::read);
  sequence_->renew(handle);
  handle.partitioned = true;
  const bool owns = core_->rank() == handle.owner;
  void* const object = owns ? handle.current->object() : nullptr;
  std::vector<flow::Instance*> instances;
  Parts parts;
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      flow::Block block{flow::begin_of(handle.shape.rows, rows, i),
                        flow::begin_of(handle.shape.columns, columns, j)};
      block.rows = flow::begin_of(handle.shape.rows, rows, i + 1) - block.row;
      block.columns = flow::begin_of(handle.shape.columns, columns, j + 1) - block.column;
      flow::Handle& part = core_->handles().add_part(
          handle, {block.rows, block.columns}, parts.size(), owns ? cut(object, block) : nullptr);
      parts.push_back(&part);
      if (!owns) continue;
      part.current->hold();
      instances.push_back(part.current);
    }
  }
  handle.more().parts = parts;
  if (owns) {
    const auto held = instances;
    sequence_->enter_watched(
        *new flow::PartitionTask(*sequence_, *handle.current, std::move(instances)), held);
  }
  return parts;
}

void Flow::unpartition_request(const flow::Request& whole) {
  check(whole, "unpartition()");
  flow::Handle& handle = *whole.handle;
  SHOAL_CHECK(handle.partitioned, "flow '{}': unpartition() of '{}', which is not partitioned",
              name(), handle.name());
  sequence_->note("unpartition", &handle);
  const Parts parts = std::exchange(handle.extras->parts, {});
  std::vector<flow::Access> accesses;
  for (flow::Handle* const part : parts) {
    SHOAL_CHECK(!part->partitioned,
                "flow '{}': unpartition() of '{}', whose part '{}' is "
                "partitioned itself",
                name(), handle.name(), part->name());
    sequence_->settle(*part, flow::Mode::read);
    sequence_->migrate(*part, part->home);
    if (core_->rank() == handle.owner) {
      accesses.push_back({.instance = part->current, .mode = flow::Mode::read_write});
    }
  }
  if (core_->rank() == handle.owner) {
    sequence_->enter_watched(*new flow::UnpartitionTask(*sequence_, *handle.current, accesses));
  }
  for (flow::Handle* const part : parts) core_->handles().remove(*part);
  handle.partitioned = false;
}

}  // namespace shoal
