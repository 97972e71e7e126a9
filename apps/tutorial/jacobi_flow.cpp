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
    const auto strips = static_cast<std::size_t>(count);
    shoal::Flow flow(world, "jacobi");

    // The same data on all ranks; each lives on its owner. Rows beside strips, of even and odd
    // steps.
    std::vector<shoal::Data<Strip>> strip;
    std::vector<shoal::Data<Row>> first[2];
    std::vector<shoal::Data<Row>> last[2];
    for (int s = 0; s < count; ++s) {
      const shoal::Rank owner(s * world.size() / count);
      strip.push_back(flow.data(empty_strip(s, count), {.owner = owner}));
      for (auto* rows : {&first[0], &first[1], &last[0], &last[1]}) {
        rows->push_back(flow.data(Row(kColumns, 0.0), {.owner = owner}));
      }
    }
    const auto top = flow.data(Row(kColumns, 1.0));
    const auto bottom = flow.data(Row(kColumns, 0.0));

    const shoal::Codelet relax("relax", [](Strip& points, const Row& above, const Row& below,
                                           Row& new_first, Row& new_last) {
      points = advance(above, points, below);
      new_first = first_row(points);
      new_last = last_row(points);
    });
    for (int step = 0; step < kSteps; ++step) {
      const int now = step % 2;
      for (std::size_t s = 0; s < strips; ++s) {
        flow.insert(relax, read_write(strip[s]), read(s > 0 ? last[now][s - 1] : top),
                    read(s + 1 < strips ? first[now][s + 1] : bottom), write(first[1 - now][s]),
                    write(last[1 - now][s]));
      }
    }

    const auto sum = flow.data(std::uint64_t{0});
    for (const auto& points : strip) {
      flow.insert([](std::uint64_t& all, const Strip& part) { all += checksum(part); },
                  read_write(sum), read(points));
    }
    const std::uint64_t total = flow.get(sum);  // waits for all that it needs
    if (world.rank() == 0) print_checksum(total);
  });
}
// [/main]
