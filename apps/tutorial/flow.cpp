// A sequential flow: tasks are inserted in program order, with the data that they read and write.
// The flow infers their dependencies, and moves values between ranks.

#include <shoal/shoal.hpp>

#include <string>
#include <vector>

namespace {

using shoal::commutative;
using shoal::read;
using shoal::read_write;
using shoal::reduction;
using shoal::write;

/// Prefix sums of blocks that live on all ranks, and their total.
int sums(shoal::World& world) {
  // [flow]
  constexpr int blocks = 8;
  shoal::Flow flow(world, "sums");

  // The same data on all ranks; each lives on its owner.
  std::vector<shoal::Data<std::vector<long>>> block;
  for (int b = 0; b < blocks; ++b) {
    block.push_back(flow.data(std::vector<long>(4), {.owner = shoal::Rank(b % world.size())}));
  }
  const auto sum = flow.data(0L, {.name = "sum"});

  const shoal::Codelet fill("fill", [](std::vector<long>& values, int b) {
    values = {b, b + 1L, b + 2L, b + 3L};
  });
  const shoal::Codelet scan("scan", [](std::vector<long>& values, long& before) {
    for (long& value : values) value = before += value;
  });

  // [insert]
  // The same tasks on all ranks, in the same order. A task runs where its data live.
  int number = 0;
  for (const auto& values : block) {
    flow.insert(fill, write(values), number++);
    flow.insert(scan, read_write(values), read_write(sum));
  }
  const long total = flow.get(sum);  // waits for it; a copy on every rank
  // [/insert]
  // [/flow]

  long expected = 0;
  for (int b = 0; b < blocks; ++b) expected += 4 * b + 6;
  if (total != expected) return 1;

  // [modes]
  // A task for each block adds to the sum: in any order, on all ranks at once.
  const auto again = flow.data(0L);
  flow.set_reduction(
      again, [](long& zero) { zero = 0; }, [](long& into, const long& from) { into += from; });
  for (const auto& values : block) {
    flow.insert(
        [](const std::vector<long>& values, long& partial) {
          for (const long value : values) partial += value;
        },
        read(values), reduction(again));
  }
  // One at a time, in any order.
  const auto longest = flow.data(std::string());
  for (const auto& values : block) {
    flow.insert(
        [](const std::vector<long>& values, std::string& text) {
          const std::string last = std::to_string(values.back());
          if (last.size() > text.size()) text = last;
        },
        read(values), commutative(longest));
  }
  // The main function of the owner looks at a block itself; others get nothing here.
  const auto first = flow.acquire(read(block[0]));
  if (first.here() && first.get().front() != 0) return 1;
  // [/modes]
  return flow.get(again) > total && flow.get(longest).size() == 3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, [](shoal::World& world) { return sums(world); });
}
