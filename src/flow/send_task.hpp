#pragma once
// Tasks that send values to other ranks.

#include "flow/handle.hpp"

#include <shoal/detail/flow/task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::flow {

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
