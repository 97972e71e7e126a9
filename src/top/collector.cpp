#include "top/collector.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace shoal::top {

// Pages that are known stay mapped and held; those of processes that ended go.
void Collector::find() {
  Pages found;
  for (auto& page : find_pages(other_versions_)) {
    const Facts& facts = page->facts();
    if (process_.has_value() && facts.pid != *process_) continue;
    const std::pair key(facts.pid, std::string(facts.job.view()));
    const auto known = pages_.find(key);
    found[key] = std::move(known != pages_.end() ? known->second : page);
  }
  pages_ = std::move(found);
}

Overview Collector::look(std::uint64_t now_ns) {
  find();
  Overview overview;
  overview.other_versions = other_versions_;
  overview.process = process_;
  for (const auto& [process_and_job, page] : pages_) {
    const Facts& facts = page->facts();
    static_cast<void>(page->watch());  // else the next time
    const int first = process_.has_value() ? 0 : facts.first_rank;
    const int count = process_.has_value() ? facts.world_size : facts.rank_count;
    for (int rank = first; rank < first + count; ++rank) {
      Row row{std::string(facts.job.view()),
              std::string(facts.program.view()),
              facts.world_size,
              rank,
              page->read(rank),
              0};
      if (row.sample.has_value()) {
        row.age_ns = now_ns - std::min(row.sample->rank.received_ns, now_ns);
      }
      overview.rows.push_back(std::move(row));
    }
  }
  std::ranges::sort(overview.rows, [](const Row& a, const Row& b) {
    return std::tie(a.job, a.rank) < std::tie(b.job, b.rank);
  });
  return overview;
}

bool is_newer(const Overview& overview, std::uint64_t since_ns, std::uint64_t now_ns) {
  return std::ranges::all_of(overview.rows, [&](const Row& row) {
    return row.sample.has_value() && row.age_ns + since_ns <= now_ns;
  });
}

}  // namespace shoal::top
