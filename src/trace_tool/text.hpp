#pragma once
// Output of the tool in a terminal.

#include "trace_tool/analysis.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal::trace_tool {

/// The most important of an analysis, on a page.
[[nodiscard]] std::string summary_text(const Model& model, const Analysis& analysis);
/// Returns the summary as JSON, for programs.
[[nodiscard]] std::string summary_json(const Model& model, const Analysis& analysis);
/// Differences between two runs: duration, tasks by name, ranks, messages, critical path.
[[nodiscard]] std::string diff_text(const Model& a, const Analysis& of_a, const Model& b,
                                    const Analysis& of_b);

/// "this trace is partial: the run was killed": what it lacks; "" if it is whole.
[[nodiscard]] std::string partial_text(const std::vector<std::string>& gaps);

struct CheckResult {
  bool passed = true;
  std::vector<std::string> lines;  // findings, those that fail the check first
};

/// Checks that messages arrive after they were sent, and that nothing is missing. `tolerance_ns`:
/// how much too early a message may arrive; by default the uncertainty of the clocks. **Cost**:
/// memory for the messages in flight.
[[nodiscard]] CheckResult check(Input& input, std::optional<std::uint64_t> tolerance_ns);

/// Causes of time that a simulated run does not contain; "" for a real one.
[[nodiscard]] std::string not_modelled_text(const Input& input);

/// "cholesky --n 4096 on 4 ranks (build 1234)": of what the trace knows of its run.
[[nodiscard]] std::string title_of(const Input& input);

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
/// which part of the critical path, the run comes near to. Of a trace with losses it is "unknown".
[[nodiscard]] Verdict verdict_on(const Model& model, const Analysis& analysis);
/// Why B takes longer than A, or the reverse.
[[nodiscard]] Verdict verdict_on_difference(const Model& a, const Analysis& of_a, const Model& b,
                                            const Analysis& of_b);

[[nodiscard]] std::string text_of(const Verdict& verdict);
/// For programs. `gaps`: parts that the trace lacks, or the two. `not_modelled`: see
/// not_modelled_text().
[[nodiscard]] std::string json_of(const Verdict& verdict, std::int64_t duration,
                                  const std::vector<std::string>& gaps,
                                  const std::string& not_modelled = "");

}  // namespace shoal::trace_tool
