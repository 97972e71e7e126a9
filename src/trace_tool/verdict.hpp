#pragma once
// One answer to "why does it take so long?", in three sentences.

#include "trace_tool/analysis.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace shoal::trace_tool {

/// The bound of a run, or the reason why it is slower than another one.
struct Verdict {
  std::string bound;  // work, chain, imbalance, messages, insertion, waiting, processors, unknown
  std::string cause;  // kind of the hint that it rests on; "": of none
  std::string place;  // FILE:LINE in the source; "": not recorded
  double share = 0;   // of the run that this costs
  std::int64_t without_ns = 0;  // that the run would take without it; at least its bounds
  std::array<std::string, 3> sentences;
};

/// The verdict rests on the hint that costs most. Without a hint, it tells which of the bounds, or
/// which part of the critical path, the run comes near to.
[[nodiscard]] Verdict verdict_on(const Model& model, const Analysis& analysis);
/// Why B takes longer than A, or the reverse.
[[nodiscard]] Verdict verdict_on_difference(const Model& a, const Analysis& of_a, const Model& b,
                                            const Analysis& of_b);

[[nodiscard]] std::string text_of(const Verdict& verdict);
[[nodiscard]] std::string json_of(const Verdict& verdict, std::int64_t duration);

}  // namespace shoal::trace_tool
