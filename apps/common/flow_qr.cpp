#include "common/flow_qr.hpp"

#include <algorithm>

#include "common/flow_kernels.hpp"

namespace apps {

using shoal::Cost;
using shoal::on_rank;
using shoal::read;
using shoal::read_write;
using shoal::with_priority;
using shoal::write;

namespace {

Cost cost_of(double factor, const ConstTileView& v, std::size_t columns) {
  return Cost::of_flops(factor * static_cast<double>(v.rows()) * static_cast<double>(v.columns()) *
                        static_cast<double>(columns));
}

void copy(const TileView& from, const TileView& to) {
  for (std::size_t j = 0; j < from.columns(); ++j) {
    std::copy_n(&from(0, j), from.rows(), &to(0, j));
  }
}

// One block of rows per tile: as many as a tile has reflectors in a block.
BlockPartition reflector_rows(const BlockPartition& rows, const BlockPartition& columns) {
  const int block = kernels::reflector_block(columns.largest_extent());
  return BlockPartition::uniform(block * rows.count(), block);
}

}  // namespace

FlowQr::FlowQr(const shoal::World& world, shoal::Flow& flow, RunMeter& meter, FlowMatrix& a,
               const ProcessGrid& grid)
    : flow_(flow),
      a_(a),
      count_(a.columns().count()),
      reflector_rows_(reflector_rows(a.rows(), a.columns())),
      factors_(world, flow, reflector_rows_, a.columns(), grid, "T"),
      geqrt_("geqrt",
             [&meter](TileView tile, TileView t, TileView v) {
               meter.timed(cost_of(4.0 / 3, tile, tile.columns()), [&] {
                 kernels::geqrt(tile, t);
                 copy(tile, v);
               });
             }),
      gemqrt_("gemqrt",
              [&meter](bool transposed, ConstTileView v, ConstTileView t, TileView c) {
                meter.timed(cost_of(2, v, c.columns()),
                            [&] { kernels::gemqrt(transposed, v, t, c); });
              }),
      tsqrt_("tsqrt",
             [&meter](TileView r, TileView b, TileView t) {
               meter.timed(cost_of(2, b, b.columns()), [&] { kernels::tsqrt(r, b, t); });
             }),
      tsmqr_("tsmqr", [&meter](bool transposed, ConstTileView v, ConstTileView t, TileView upper,
                               TileView lower) {
        meter.timed(cost_of(4, v, lower.columns()),
                    [&] { kernels::tsmqr(transposed, v, t, upper, lower); });
      }) {
  for (int k = 0; k < count_; ++k) {
    const auto rows = static_cast<std::size_t>(a.rows().extent(k));
    diagonal_.push_back(flow.matrix<double>(nullptr, rows,
                                            static_cast<std::size_t>(a.columns().extent(k)), rows,
                                            {.owner = a.owner(k, k)}));
  }
}

void FlowQr::apply(bool transposed, const FlowMatrix& c, int k, int column) {
  flow_.insert(gemqrt_, transposed, read(diagonal_[static_cast<std::size_t>(k)]),
               read(factors_.at(k, k)), read_write(c.at(k, column)), on_rank(c.owner(k, column)),
               with_priority(count_ - k));
}

void FlowQr::apply_below(bool transposed, const FlowMatrix& c, int k, int i, int column) {
  flow_.insert(tsmqr_, transposed, read(a_.at(i, k)), read(factors_.at(i, k)),
               read_write(c.at(k, column)), read_write(c.at(i, column)),
               on_rank(c.owner(i, column)));
}

void FlowQr::insert(const FlowMatrix* b) {
  const int rows = a_.rows().count();
  for (int k = 0; k < count_; ++k) {
    flow_.insert(geqrt_, read_write(a_.at(k, k)), write(factors_.at(k, k)),
                 write(diagonal_[static_cast<std::size_t>(k)]), with_priority(count_ - k));
    for (int j = k + 1; j < count_; ++j) apply(true, a_, k, j);
    if (b != nullptr) apply(true, *b, k, 0);
    for (int i = k + 1; i < rows; ++i) {
      flow_.insert(tsqrt_, read_write(a_.at(k, k)), read_write(a_.at(i, k)),
                   write(factors_.at(i, k)), on_rank(a_.owner(i, k)), with_priority(count_ - k));
      for (int j = k + 1; j < count_; ++j) apply_below(true, a_, k, i, j);
      if (b != nullptr) apply_below(true, *b, k, i, 0);
    }
  }
}

void FlowQr::insert_multiplication(const FlowMatrix& c) {
  for (int k = count_ - 1; k >= 0; --k) {
    for (int j = 0; j < c.columns().count(); ++j) {
      for (int i = a_.rows().count() - 1; i > k; --i) apply_below(false, c, k, i, j);
      apply(false, c, k, j);
    }
  }
}

}  // namespace apps
