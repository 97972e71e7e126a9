#pragma once
// Finds the pages to show, and reads them again and again.

#include "top/figures.hpp"
#include "top/page.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shoal::top {

/// One rank, as it is shown.
struct Row {
  std::string job;
  std::string program;
  int world_size = 1;
  int rank = 0;
  std::optional<Sample> sample;  // nothing: not heard of yet
  std::uint64_t age_ns = 0;      // of the sample, on this host
};

struct Overview {
  std::vector<Row> rows;                // by job and rank
  int other_versions = 0;               // processes of other versions of shoal
  std::optional<std::int64_t> process;  // that was asked for
};

class Collector {
 public:
  /// All ranks of the user's processes on this host; with a process: all ranks of its run.
  explicit Collector(std::optional<std::int64_t> process) : process_(process) {}

  /// Reads all figures. `now_ns`: CLOCK_MONOTONIC. The processes hear that they are looked at.
  Overview look(std::uint64_t now_ns);

 private:
  void find();

  const std::optional<std::int64_t> process_;
  // By process and job: a process may have several runs at once.
  using Pages = std::map<std::pair<std::int64_t, std::string>, std::unique_ptr<PageView>>;
  Pages pages_;
  int other_versions_ = 0;
};

/// Every row has a sample that was taken since then.
bool is_newer(const Overview& overview, std::uint64_t since_ns, std::uint64_t now_ns);

}  // namespace shoal::top
