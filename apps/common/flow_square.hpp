#pragma once
// A square matrix in tiles that a program factors in a sequential flow.

#include <shoal/shoal.hpp>

#include <functional>
#include <string>

#include "common/block_partition.hpp"
#include "common/flow_app.hpp"
#include "common/flow_matrix.hpp"
#include "common/process_grid.hpp"
#include "common/run_meter.hpp"

namespace apps {

/// Set-up of such a program. **Caller**: all ranks.
class FlowSquare {
 public:
  using Element = std::function<double(int row, int column)>;

  /// `element` is that of the matrix A.
  FlowSquare(shoal::World& world, const FlowAppOptions& options, const std::string& program,
             Element element, FlowMatrix::Part part = FlowMatrix::Part::all);

  [[nodiscard]] shoal::Flow& flow() { return flow_; }
  [[nodiscard]] RunMeter& meter() { return meter_; }
  [[nodiscard]] FlowMatrix& a() { return a_; }
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
  [[nodiscard]] double element(int row, int column) const { return element_(row, column); }
  /// Another matrix of the same tiles.
  [[nodiscard]] FlowMatrix make(const std::string& name);
  /// ||A - P||_F / ||A||_F of the original A; `subtract` inserts the tasks of C <- C - P.
  [[nodiscard]] double residual(const std::function<void(FlowMatrix& c)>& subtract);

  /// Factors A by `factor` and reports; the exit code. `gflop`: 10^9 operations.
  int run(const std::string& formula, double gflop, std::function<void()> factor,
          std::function<double()> residual);

 private:
  [[nodiscard]] SumOfSquares squares(FlowMatrix& matrix) const;

  shoal::World& world_;
  const FlowAppOptions& options_;
  const std::string program_;
  const Element element_;
  const FlowMatrix::Part part_;
  const BlockPartition tiles_;
  const ProcessGrid grid_;
  shoal::Flow flow_;
  RunMeter meter_;
  FlowMatrix a_;
};

}  // namespace apps
