#include "object/order_check.hpp"

#include <fmt/format.h>

#include <utility>

namespace shoal::object {

void OrderCheck::arrives(const Invocation& invocation) {
  if (invocation.target().context == 0) return;
  contexts_[invocation.target().context].waiting.push_back(&invocation);
}

std::string OrderCheck::begins(const Invocation& invocation, std::uint32_t epoch) {
  const Target& target = invocation.target();
  Context free;
  if (target.context == 0) free.waiting.push_back(&invocation);
  Context& context = target.context != 0 ? contexts_[target.context] : free;
  const bool is_first = !context.waiting.empty() && context.waiting.front() == &invocation;
  if (invocation.left() == 1) std::erase(context.waiting, &invocation);
  const char* what = nullptr;
  if (!is_first) what = "overtakes an earlier one of its context";
  if (std::exchange(context.is_running, true)) {
    what = "begins before the one before it in its context has ended";
  }
  if (target.epoch > epoch) what = "comes from a later epoch";
  if (what == nullptr) return "";
  return fmt::format("{} of object {}, invoked by {}, {}", invocation.method(), target.number,
                     invocation.caller(), what);
}

void OrderCheck::ends(std::uint64_t context) {
  if (context == 0) return;
  const auto it = contexts_.find(context);
  it->second.is_running = false;
  if (it->second.waiting.empty()) contexts_.erase(it);
}

void OrderCheck::forget() {
  for (auto& [id, context] : contexts_) context.waiting.clear();
  std::erase_if(contexts_, [](const auto& context) { return !context.second.is_running; });
}

}  // namespace shoal::object
