// The Jacobi iteration of docs/from_mpi.md as a sequential task flow: the loops of a serial
// program.

#include "jacobi.hpp"

#include <shoal/shoal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// [main]
int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const int count = std::min(kRows, 4 * world.size());
    shoal::Flow flow(world, "jacobi");
    // The same data on all ranks; each lives on its owner. Rows of even and odd steps.
    std::vector<shoal::Data<Strip>> strip;
    std::vector<shoal::Data<Row>> first[2];
    std::vector<shoal::Data<Row>> last[2];
    for (auto& rows : last) rows.push_back(flow.data(Row(kColumns, 1.0)));  // above all strips
    for (int s = 0; s < count; ++s) {
      const shoal::Rank owner(s * world.size() / count);
      strip.push_back(flow.data(empty_strip(s, count), {.owner = owner}));
      for (auto* rows : {&first[0], &first[1], &last[0], &last[1]}) {
        rows->push_back(flow.data(Row(kColumns, 0.0), {.owner = owner}));
      }
    }
    for (auto& rows : first) rows.push_back(flow.data(Row(kColumns, 0.0)));  // below them

    const shoal::Codelet relax("relax", [](Strip& points, const Row& above, const Row& below,
                                           Row& new_first, Row& new_last) {
      points = advance(above, points, below);
      new_first = first_row(points);
      new_last = last_row(points);
    });
    for (int step = 0; step < kSteps; ++step) {
      const int now = step % 2;
      for (std::size_t s = 0; s < strip.size(); ++s) {
        flow.insert(relax, read_write(strip[s]), read(last[now][s]), read(first[now][s + 1]),
                    write(first[1 - now][s]), write(last[1 - now][s + 1]));
      }
    }

    const auto sum = flow.data(std::uint64_t{0});
    const auto add = [](std::uint64_t& all, const Strip& points) { all += checksum(points); };
    for (const auto& points : strip) flow.insert(add, read_write(sum), read(points));
    const std::uint64_t total = flow.get(sum);  // waits for all that it needs
    if (world.rank() == 0) print_checksum(total);
  });
}
// [/main]
