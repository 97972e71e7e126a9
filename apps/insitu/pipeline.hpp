#pragma once
// In-situ analytics driven by events (edat paper, section VI).

#include <shoal/shoal.hpp>

#include <cstdint>
#include <vector>

#include "common/output_file.hpp"
#include "insitu/field.hpp"
#include "insitu/options.hpp"

namespace insitu {

/// Roles of ranks: the first half computes, the second half analyses, one for one. A single rank
/// does both, and with an odd number the last one has no partner but takes part in the reductions.
class Roles {
 public:
  explicit Roles(int size) : size_(size), compute_count_(size == 1 ? 1 : size / 2) {}
  [[nodiscard]] int compute_count() const { return compute_count_; }
  [[nodiscard]] int analytics_count() const { return size_ == 1 ? 1 : size_ - compute_count_; }
  [[nodiscard]] bool computes(shoal::Rank rank) const { return rank < compute_count_; }
  [[nodiscard]] bool analyses(shoal::Rank rank) const {
    return size_ == 1 || rank >= compute_count_;
  }
  [[nodiscard]] shoal::Rank analytics_rank(int index) const {
    return shoal::Rank(size_ == 1 ? 0 : compute_count_ + index);
  }

 private:
  int size_;
  int compute_count_;
};

/// The result for one item, on the rank that was the root of its reduction.
struct Result {
  Item item;
  Diagnostics diagnostics;
};

/// The pipeline on one rank:
/// - a compute rank fires "data" to its analytics rank for each item, in its own order and time;
/// - there a persistent task analyses each and fires the part to the item's root, another rank for
///   each item;
/// - a task at the root, which depends on the parts of all analytics ranks that have data, merges
///   them in the order of ranks and fires the result to the writer;
/// - a persistent task of the first analytics rank writes them to the file, under a lock.
class Pipeline {
 public:
  /// Collective. **Errors**: InputError, on all ranks, for a file that cannot be written.
  Pipeline(shoal::World& world, const Options& options);

  /// Collective. Returns when all is analysed and written. **Errors**: the same.
  void run();

  /// Results of this rank's reductions.
  [[nodiscard]] const std::vector<Result>& results() const { return results_; }
  /// From when an item was fired until its result was there, added up over the parts of this rank's
  /// results.
  [[nodiscard]] std::uint64_t latency_sum_ns() const { return latency_sum_ns_; }
  [[nodiscard]] std::int64_t part_count() const { return part_count_; }

 private:
  struct Part {
    Item item;
    std::uint64_t fired_ns;
    Diagnostics diagnostics;
  };

  void check_file();
  void compute();
  void on_data(const shoal::Event& data);
  void expect_parts(const Item& item);
  void on_parts(const shoal::EventList& parts);
  void on_result(const shoal::Event& event);
  [[nodiscard]] shoal::Rank root_of(const Item& item) const;

  shoal::World& world_;
  const Options& options_;
  const Roles roles_;
  shoal::Events events_;
  apps::OutputFile file_;  // under the lock "file"
  // Under the lock "results".
  std::vector<Result> results_;
  std::uint64_t latency_sum_ns_ = 0;
  std::int64_t part_count_ = 0;
};

}  // namespace insitu
