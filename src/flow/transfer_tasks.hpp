#pragma once
// Tasks that receive values from other ranks, and those that send them.

#include <shoal/detail/flow/task.hpp>

#include "flow/instance.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::flow {

/// Identity of a transfer, in messages.
struct TransferId {
  std::uint64_t handle = 0;
  std::int32_t rank = 0;     // the other side
  std::uint32_t number = 0;  // of the handle's transfers from the sender to the receiver
  bool operator==(const TransferId&) const = default;
};

/// Receives a value into an instance, once that may be written.
class ReceiveTask final : public FlowTask {
 public:
  ReceiveTask(Sequence& sequence, Instance& instance, const TransferId& id, bool combines);

  [[nodiscard]] Access& access() { return access_; }
  [[nodiscard]] const TransferId& id() const { return id_; }
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "receiving"; }
  /// Returns whether the task waits for nothing but its value; once true, it stays so.
  [[nodiscard]] bool lacks_value_only() const {
    return missing.load(std::memory_order_acquire) == 1;
  }
  /// Returns the memory where the value may be written at once, or nothing. **Precondition**:
  /// lacks_value_only().
  [[nodiscard]] std::span<std::byte> place();
  [[nodiscard]] bool keeps_accesses() const override { return keeps_access_; }
  /// Called when the value has arrived, in place or as bytes.
  void arrive_in_place() { arrived_ = true; }
  void arrive(std::vector<std::byte> bytes) { bytes_ = std::move(bytes); }
  void arrive(std::shared_ptr<const std::vector<std::byte>> bytes) { shared_ = std::move(bytes); }
  /// Called when the value has arrived in place and others read it there: the access becomes a
  /// reading one, and is released with the last reference to `hold`.
  void arrive_in_place(std::shared_ptr<const void> hold) {
    hold_ = std::move(hold);
    keeps_access_ = true;
  }

 private:
  void execute() override;
  void take();

  Access access_;
  const TransferId id_;
  const bool combines_;  // adds the value to that of the instance
  bool arrived_ = false;
  bool keeps_access_ = false;
  std::vector<std::byte> bytes_;
  std::shared_ptr<const std::vector<std::byte>> shared_;  // instead, while it is passed on
  std::shared_ptr<const void> hold_;
};

/// Receiver of a transfer.
struct Destination {
  std::int32_t rank = 0;
  std::uint32_t number = 0;
  std::int32_t priority = 0;  // of the first task there that reads it
};

/// Receivers of a value; more may be added until the value leaves. Guarded by the lock of the
/// instance.
struct SendList {
  std::vector<Destination> to;
};

/// Sends a value to other ranks, once it is ready.
class SendTask final : public FlowTask {
 public:
  /// `is_late`: the value has left for other ranks before, so a broadcast is missed.
  SendTask(Sequence& sequence, Instance& instance, const Destination& to, bool is_late);

  [[nodiscard]] Access& access() { return access_; }
  [[nodiscard]] const std::shared_ptr<SendList>& list() const { return list_; }
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string_view plain_name() const noexcept override { return "sending"; }
  [[nodiscard]] bool keeps_accesses() const override { return true; }

 private:
  void execute() override;

  Access access_;
  const std::shared_ptr<SendList> list_;
  const bool is_late_;
};

}  // namespace shoal::flow
