#include "trace/clocks.hpp"
#include "trace_tool/text.hpp"

#include <fmt/format.h>

namespace shoal::trace_tool {

namespace {

/// Findings of one trace.
class Checking {
 public:
  Checking(Input& input, std::optional<std::uint64_t> tolerance_ns) : input_(input) {
    uncertainty_ns_ = number("uncertainty_ns");
    tolerance_ns_ = tolerance_ns.value_or(uncertainty_ns_);
  }

  CheckResult run() {
    input_.for_each([this](const Event& event) { add(event); });
    look_at_end();
    look_at_messages();
    result_.passed = failures_.empty();
    std::vector<std::string> gaps = input_.gaps();
    if (has_region_) gaps.emplace_back("only some regions of the run were recorded");
    if (!gaps.empty()) result_.lines.push_back(partial_text(gaps));
    result_.lines.insert(result_.lines.end(), failures_.begin(), failures_.end());
    result_.lines.insert(result_.lines.end(), remarks_.begin(), remarks_.end());
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint64_t number(const char* key) const {
    const auto found = input_.end().find(key);
    return found != input_.end().end() && found->is_number_unsigned() ? found->get<std::uint64_t>()
                                                                      : 0;
  }

  void add(const Event& event) {
    ++events_;
    const auto time = static_cast<std::int64_t>(event.time);
    switch (event.kind()) {
      case Kind::message_sent:
        messages_.sent(event.id, time);
        break;
      case Kind::message_received:
        messages_.received(event.id, time);
        break;
      case Kind::region_begin:
      case Kind::region_end:
        has_region_ = true;
        break;
      default:
        break;
    }
  }

  void look_at_end() {
    if (input_.end().empty()) fail("the trace has no end: it was cut off");
    if (!input_.damage().empty()) fail(input_.damage());
    if (const auto damage = input_.end().find("damage"); damage != input_.end().end()) {
      for (const auto& line : *damage) fail(line.get<std::string>());
    }
    if (number("parts_missing") > 0) {
      fail(fmt::format("the parts of {} processes are missing", number("parts_missing")));
    }
    if (number("dropped") > 0) {
      fail(fmt::format("{} events were dropped because buffers were full: {}", number("dropped"),
                       input_.drops().dump()));
    }
    if (input_.dropped_descriptions() > 0) {
      fail(fmt::format("{} descriptions were dropped because buffers were full",
                       input_.dropped_descriptions()));
    }
    if (!input_.end().empty() && events_ != number("events")) {
      fail(fmt::format("{} events can be read, and the trace says that there are {}", events_,
                       number("events")));
    }
    const auto alone = input_.end().find("unsynchronized");
    if (alone != input_.end().end() && !alone->empty()) {
      fail(fmt::format("the clocks of processes {} were compared with no other", alone->dump()));
    }
    if (number("steps_back") > 0) {
      remark(fmt::format("{} events lay before their predecessor: a clock stepped back",
                         number("steps_back")));
    }
  }

  void look_at_messages() {
    const auto worst = static_cast<std::uint64_t>(messages_.largest_violation_ns());
    remark(
        fmt::format("{} events, {} messages with both ends; {} arrive before they were sent, by "
                    "{} ns at most; the clocks are uncertain by {} ns",
                    events_, messages_.matched(), messages_.violations(), worst, uncertainty_ns_));
    if (worst > tolerance_ns_) {
      fail(fmt::format("message {:#x} arrives {} ns before it was sent; {} ns are tolerated",
                       messages_.worst_message(), worst, tolerance_ns_));
    }
    if (number("barriers") > 0) {
      remark(fmt::format(
          "{} barriers, which the processes left within {} ns; clocks that drift "
          "explain {} ns",
          number("barriers"), number("barrier_spread_ns"), number("barrier_uncertainty_ns")));
    }
    const std::uint64_t unmatched = messages_.sent_only() + messages_.received_only();
    if (unmatched == 0) return;
    const std::string text = fmt::format(
        "{} messages were sent and not received, {} received and "
        "not sent",
        messages_.sent_only(), messages_.received_only());
    // At the edge of a region, one end of a message lies outside.
    if (has_region_) {
      remark(text + ", which a region of interest explains");
    } else {
      fail(text);
    }
  }

  void fail(std::string text) { failures_.push_back(std::move(text)); }
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  Input& input_;
  std::uint64_t uncertainty_ns_ = 0;
  std::uint64_t tolerance_ns_ = 0;
  std::uint64_t events_ = 0;
  bool has_region_ = false;
  trace::CausalityCheck messages_;
  std::vector<std::string> failures_;
  std::vector<std::string> remarks_;
  CheckResult result_;
};

}  // namespace

CheckResult check(Input& input, std::optional<std::uint64_t> tolerance_ns) {
  return Checking(input, tolerance_ns).run();
}

}  // namespace shoal::trace_tool
