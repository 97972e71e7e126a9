// A loop over time steps: a dense graph whose tasks run once in every step, and outputs that carry
// results to the tasks that need them. A rod of cells is heated at its left end; each task advances
// one part of it, and needs the cells beside it from the tasks of the neighbours.

#include <shoal/shoal.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace {

constexpr int kParts = 4;  // of each rank
constexpr int kCells = 25;
constexpr int kSteps = 50;

using Part = std::vector<double>;

Part advance(const Part& now, double left, double right) {
  Part next(now);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double before = i == 0 ? left : now[i - 1];
    const double after = i + 1 == now.size() ? right : now[i + 1];
    next[i] = now[i] + 0.25 * (before - 2 * now[i] + after);
  }
  return next;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) {
    const int parts = kParts * world.size();
    const int first = kParts * world.rank();  // of this rank
    const auto index = [&](int part) { return static_cast<std::size_t>(part - first); };
    std::vector<Part> now(kParts, Part(kCells, 0.0));
    std::vector<Part> next(kParts);

    // The cell at the left (0) or right (1) of a part.
    shoal::Outputs<std::pair<int, int>, double> beside(world, "beside");
    shoal::TaskGraph<int> steps(world, "step");
    steps.set_dense(kParts, index)
        .set_indegree([&](int part) { return (part > 0 ? 1 : 0) + (part + 1 < parts ? 1 : 0); })
        .set_mapping([&](int part) { return part % world.worker_count(); })
        .set_task([&](int part) {
          const double left = part > 0 ? *beside.take({part, 0}) : 1.0;
          const double right = part + 1 < parts ? *beside.take({part, 1}) : 0.0;
          next[index(part)] = advance(now[index(part)], left, right);
        });
    const auto hand_over = world.make_am([&](int part, int side, double cell) {
      beside.put({part, side}, cell, 1);  // for one reader, which may run now
      steps.fulfill(part);
    });
    const auto rank_of = [](int part) { return shoal::Rank(part / kParts); };

    for (int step = 0; step < kSteps; ++step) {
      if (step > 0) steps.reset();  // all tasks may run once more
      world.barrier();              // no message reaches a rank before its reset()
      for (int part = first; part < first + kParts; ++part) {
        const Part& cells = now[index(part)];
        if (part > 0) hand_over.send(rank_of(part - 1), part - 1, 1, cells.front());
        if (part + 1 < parts) hand_over.send(rank_of(part + 1), part + 1, 0, cells.back());
      }
      world.wait();  // for all tasks of this step
      std::swap(now, next);
    }
    beside.check_all_read();

    Part expected(static_cast<std::size_t>(parts * kCells), 0.0);
    for (int step = 0; step < kSteps; ++step) expected = advance(expected, 1.0, 0.0);
    bool good = true;
    for (std::size_t i = 0; i < kParts * kCells; ++i) {
      const std::size_t cell = static_cast<std::size_t>(first * kCells) + i;
      const double error = std::fabs(now[i / kCells][i % kCells] - expected[cell]);
      good = good && error < 1e-12;  // not a number is not good
    }
    return good ? 0 : 1;
  });
}
