// Slips with the sequential task flow.

#include <shoal/shoal.hpp>

#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "slips.hpp"

namespace {

using shoal::Codelet;
using shoal::Flow;
using shoal::Rank;
using shoal::World;

// Functions of codelets.
const auto add_one = [](long& x) { ++x; };
const auto copy = [](const long& from, long& to) { to = from; };

void stale_prune(World& world) {  // rank 1 reads x later, so it had to insert the write, too
  Flow flow(world, "pruned", {.pruned = true});
  const auto x = flow.data(1L, {.owner = Rank(0), .tag = 1, .name = "x"});
  const auto y = flow.data(0L, {.owner = Rank(1), .tag = 2, .name = "y"});
  flow.insert(Codelet("copy", copy), read(x), write(y));
  if (world.rank() == 0) flow.insert(Codelet("set", [](long& v) { v = 2; }), write(x));
  flow.insert(Codelet("copy", copy), read(x), write(y));
  flow.wait();
}

void read_pruned(World& world) {  // rank 0 inserts nothing of the task that reads its datum
  Flow flow(world, "pruned", {.pruned = true});
  const auto x = flow.data(1L, {.owner = Rank(0), .tag = 1, .name = "source"});
  const auto y = flow.data(0L, {.owner = Rank(1), .tag = 2, .name = "sink"});
  if (world.rank() == 1) flow.insert(Codelet("copy", copy), read(x), write(y));
  flow.wait();
  world.wait();
}

// The ranks register two data of one type and size in another order.
void other_datum_pruned(World& world) {
  Flow flow(world, "pruned", {.pruned = true});
  const auto add = [&](const char* name, long value) {
    return flow.data(value, {.owner = Rank(0), .name = name});
  };
  const auto first = world.rank() == 0 ? add("left", 1) : add("right", 2);
  const auto second = world.rank() == 0 ? add("right", 2) : add("left", 1);
  const auto& left = world.rank() == 0 ? first : second;
  const auto y = flow.data(0L, {.owner = Rank(1), .name = "y"});
  flow.insert(Codelet("copy", copy), read(left), write(y));
  flow.insert(Codelet("copy", copy), read(world.rank() == 0 ? second : first), write(y));
  flow.wait();
  world.wait();
}

// A tag that stands for another datum on the other rank.
void other_tag_pruned(World& world) {
  Flow flow(world, "pruned", {.pruned = true});
  const std::uint64_t own = world.rank() == 0 ? 1 : 2;
  const auto up = flow.data(1L, {.owner = Rank(0), .tag = own, .name = "up"});
  const auto down = flow.data(2L, {.owner = Rank(0), .tag = 3 - own, .name = "down"});
  const auto y = flow.data(0L, {.owner = Rank(1), .tag = 3, .name = "y"});
  flow.insert(Codelet("copy", copy), read(up), write(y));
  flow.insert(Codelet("copy", copy), read(down), write(y));
  flow.wait();
  world.wait();
}

// The rank of the data has a number where the other one has a count.
void other_type_pruned(World& world) {
  Flow flow(world, "pruned", {.pruned = true});
  const auto y = flow.data(0L, {.owner = Rank(1), .tag = 3, .name = "y"});
  if (world.rank() == 0) {
    const auto x = flow.data(1.5, {.owner = Rank(0), .tag = 1, .name = "x"});
    flow.insert(Codelet("copy", [](const double&, long&) {}), read(x), write(y));
  } else {
    const auto x = flow.data(1L, {.owner = Rank(0), .tag = 1, .name = "x"});
    flow.insert(Codelet("copy", copy), read(x), write(y));
  }
  flow.wait();
  world.wait();
}

void programs_differ(World& world) {
  Flow flow(world, "sums");
  const auto x = flow.data(0L, {.name = "x"});
  flow.insert(Codelet("add", add_one), read_write(x));
  if (world.rank() == 0) {
    flow.insert(Codelet("double", [](long& v) { v *= 2; }), read_write(x));
  } else {
    flow.insert(Codelet("square", [](long& v) { v *= v; }), read_write(x));
  }
  flow.wait();
  world.wait();
}

void insertion_missing(World& world) {
  Flow flow(world, "sums");
  const auto x = flow.data(0L, {.owner = Rank(1), .name = "x"});
  flow.insert(Codelet("add", add_one), read_write(x));
  if (world.rank() == 0) flow.insert(Codelet("add", add_one), read_write(x));
  flow.wait();
  world.wait();
}

void data_in_another_order(World& world) {
  Flow flow(world, "halves");
  const bool first = world.rank() == 0;
  auto a = flow.data(1L, {.name = first ? "left" : "right"});
  auto b = flow.data(1L, {.name = first ? "right" : "left"});
  if (!first) std::swap(a, b);
  flow.insert(Codelet("add", add_one), read_write(a));
  flow.wait();
  world.wait();
}

void use_row(World& world, bool pruned) {
  Flow flow(world, "rows", {.pruned = pruned});
  const std::size_t size = world.rank() == 0 ? 8 : 9;
  const auto x = flow.vector<double>(nullptr, size, {.owner = Rank(0), .tag = 1, .name = "x"});
  const auto y = flow.data(0.0, {.owner = Rank(pruned ? 1 : 0), .tag = 2, .name = "y"});
  flow.insert(Codelet("set", [](std::span<double> row) { row[0] = 1; }), write(x));
  flow.insert(Codelet("take", [](std::span<const double> row, double& first) { first = row[0]; }),
              read(x), write(y));
  flow.wait();
  world.wait();
}
void sizes_differ(World& world) { use_row(world, false); }
void sizes_differ_pruned(World& world) { use_row(world, true); }

void get_on_one_rank(World& world) {
  Flow flow(world, "norms");
  const auto x = flow.data(1L, {.owner = Rank(0), .name = "norm"});
  flow.insert(Codelet("add", add_one), read_write(x));
  if (world.rank() == 1) (void)flow.get(x);
  world.wait();
}

void after_unregister(World& world) {
  Flow flow(world, "tiles");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "tile"});
  flow.unregister(x);
  flow.insert(Codelet("add", add_one), read_write(x));
  flow.wait();
}

void get_after_unregister(World& world) {
  Flow flow(world, "tiles");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "tile"});
  flow.unregister(x);
  (void)flow.get(x);
}

void never_registered(World& world) {
  Flow flow(world, "tiles");
  const shoal::Data<long> x;
  flow.insert(Codelet("add", add_one), read_write(x));
  flow.wait();
}

void whole_while_partitioned(World& world) {
  Flow flow(world, "blocks");
  const auto x = flow.vector<double>(nullptr, 8, {.owner = Rank(1), .name = "vector"});
  const auto parts = flow.partition(x, 2);
  flow.insert(Codelet("clear", [](std::span<double> v) { v[0] = 0; }), write(x));
  flow.wait();
}

void partition_in_nothing(World& world) {
  Flow flow(world, "blocks");
  const auto x = flow.vector<double>(nullptr, 8, {.owner = Rank(1), .name = "vector"});
  (void)flow.partition(x, 0);
  flow.wait();
}

void unpartition_twice(World& world) {
  Flow flow(world, "blocks");
  const auto x = flow.vector<double>(nullptr, 8, {.owner = Rank(1), .name = "vector"});
  (void)flow.partition(x, 2);
  flow.unpartition(x);
  flow.unpartition(x);
  flow.wait();
}

void datum_of_another_flow(World& world) {
  Flow one(world, "one");
  Flow two(world, "two");
  const auto x = one.data(1L, {.owner = Rank(1), .name = "x of one"});
  two.insert(Codelet("add", add_one), read_write(x));
  two.wait();
}

void datum_given_twice(World& world) {
  Flow flow(world, "sums");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "total"});
  flow.insert(Codelet("copy", copy), read(x), write(x));
  flow.wait();
}

void one_tag_for_two(World& world) {
  Flow flow(world, "tags");
  const auto x = flow.data(1L, {.owner = Rank(0), .tag = 5, .name = "first"});
  const auto y = flow.data(1L, {.owner = Rank(1), .tag = 5, .name = "second"});
  flow.insert(Codelet("copy", copy), read(x), write(y));
  flow.wait();
}

void value_too_large(World& world) {
  Flow flow(world, "rows");
  const auto x = flow.data(1L, {.owner = Rank(0), .name = "row"});
  const Codelet scale("scale", [](long& row, int by) { row *= by; });
  if (world.rank() == 1) flow.insert(scale, read_write(x), 5'000'000'000L);
  flow.wait();
}

void tag_too_large(World& world) {
  Flow flow(world, "tags");
  (void)flow.data(1L, {.owner = Rank(0), .tag = 1UL << 50U, .name = "huge"});
  flow.wait();
}

void owner_too_large(World& world) {
  Flow flow(world, "rows");
  (void)flow.data(1L, {.owner = Rank(world.size()), .name = "last row"});
  flow.wait();
}

void rank_too_large(World& world) {
  Flow flow(world, "rows");
  const auto x = flow.data(1L, {.name = "row"});
  flow.insert(Codelet("add", add_one), shoal::on_rank(Rank(world.size())), read_write(x));
  flow.wait();
}

void migrated_too_far(World& world) {
  Flow flow(world, "rows");
  const auto x = flow.data(1L, {.name = "row"});
  flow.migrate(x, Rank(world.size()));
  flow.wait();
}

void reader_writes(World& world) {
  Flow flow(world, "views", {.check_reads = true});
  const auto x = flow.data(std::vector<long>(4), {.owner = Rank(1), .name = "table"});
  const auto y = flow.data(0L, {.owner = Rank(1), .name = "y"});
  flow.insert(Codelet("peek", [](const std::vector<long>& table,
                                 long& to) { to = ++const_cast<std::vector<long>&>(table)[0]; }),
              read(x), write(y));
  flow.wait();
  world.wait();
}

void never_released(World& world) {
  Flow flow(world, "locks");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "ledger"});
  const auto held = flow.acquire(write(x));
  flow.insert(Codelet("add", add_one), read_write(x));
  flow.wait();
  world.wait();
}

void insert_while_held(World& world) {
  Flow flow(world, "bounded", {.tasks_max = 4});
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "ledger"});
  const auto held = flow.acquire(write(x));
  for (int i = 0; i < 10; ++i) flow.insert(Codelet("add", add_one), read_write(x));
  flow.wait();
}

void no_reduction(World& world) {
  Flow flow(world, "dots");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "dot"});
  flow.insert(Codelet("add", add_one), reduction(x));
  flow.wait();
}

void task_throws(World& world) {
  Flow flow(world, "solver");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "pivot"});
  flow.insert(Codelet("divide", [](long&) { throw std::runtime_error("pivot 3 is zero"); }),
              read_write(x));
  flow.wait();
  world.wait();
}

void flow_on_one_rank(World& world) {
  if (world.rank() == 0) {
    Flow flow(world, "lonely");
    const auto x = flow.data(1L, {.owner = Rank(0), .name = "x"});
    const auto y = flow.data(1L, {.owner = Rank(1), .name = "y"});
    flow.insert(Codelet("copy", copy), read(x), write(y));
    flow.wait();
    world.wait();
  } else {
    world.wait();
  }
}

void names_differ(World& world) {
  Flow flow(world, world.rank() == 0 ? "lower" : "upper");
  const auto x = flow.data(1L, {.owner = Rank(0), .name = "x"});
  const auto y = flow.data(1L, {.owner = Rank(1), .name = "y"});
  flow.insert(Codelet("copy", copy), read(x), write(y));
  flow.wait();
  world.wait();
}

void get_in_task(World& world) {
  Flow flow(world, "nested");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "x"});
  flow.insert(Codelet("look", [&](long& v) { v = flow.get(x); }), read_write(x));
  flow.wait();
  world.wait();
}

void wait_in_handler(World& world) {
  Flow flow(world, "late");
  const auto x = flow.data(1L, {.owner = Rank(1), .name = "x"});
  const auto am = world.make_am([&](int) { (void)flow.acquire(read(x)); }, {.name = "ask"});
  if (world.rank() == 0) am.send(Rank(1), 1);
  world.wait();
}

void unregister_partitioned(World& world) {
  Flow flow(world, "tiles");
  const auto x = flow.vector<double>(nullptr, 8, {.owner = Rank(1), .name = "vector"});
  const auto parts = flow.partition(x, 2);
  flow.unregister(x);
  flow.wait();
}

void sub_flow_on_one_rank(World& world) {
  Flow flow(world, "main");
  const auto x = flow.data(1L, {.owner = Rank(0), .name = "x"});
  const auto y = flow.data(1L, {.owner = Rank(1), .name = "y"});
  if (world.rank() == 0) {
    Flow sub = flow.sub_flow("sub");
    sub.insert(Codelet("copy", copy), read(x), write(y));
    sub.wait();
  }
  flow.wait();
  world.wait();
}

std::unique_ptr<Flow> kept;
void after_run(World& world) {
  if (world.rank() == 0) kept = std::make_unique<Flow>(world, "late");
  world.wait();
}
void insert_late() { (void)kept->data(1L, {.name = "x"}); }

}  // namespace

int main(int argc, char** argv) {
  return run_slip(argc, argv,
                  {{"stale_prune", stale_prune},
                   {"read_pruned", read_pruned},
                   {"other_datum_pruned", other_datum_pruned},
                   {"other_tag_pruned", other_tag_pruned},
                   {"other_type_pruned", other_type_pruned},
                   {"programs_differ", programs_differ},
                   {"insertion_missing", insertion_missing},
                   {"data_in_another_order", data_in_another_order},
                   {"sizes_differ", sizes_differ},
                   {"sizes_differ_pruned", sizes_differ_pruned},
                   {"get_on_one_rank", get_on_one_rank},
                   {"after_unregister", after_unregister},
                   {"get_after_unregister", get_after_unregister},
                   {"never_registered", never_registered},
                   {"whole_while_partitioned", whole_while_partitioned},
                   {"partition_in_nothing", partition_in_nothing},
                   {"unpartition_twice", unpartition_twice},
                   {"datum_of_another_flow", datum_of_another_flow},
                   {"datum_given_twice", datum_given_twice},
                   {"one_tag_for_two", one_tag_for_two},
                   {"value_too_large", value_too_large},
                   {"tag_too_large", tag_too_large},
                   {"owner_too_large", owner_too_large},
                   {"rank_too_large", rank_too_large},
                   {"migrated_too_far", migrated_too_far},
                   {"reader_writes", reader_writes},
                   {"never_released", never_released},
                   {"insert_while_held", insert_while_held},
                   {"no_reduction", no_reduction},
                   {"task_throws", task_throws},
                   {"flow_on_one_rank", flow_on_one_rank},
                   {"names_differ", names_differ},
                   {"get_in_task", get_in_task},
                   {"wait_in_handler", wait_in_handler},
                   {"unregister_partitioned", unregister_partitioned},
                   {"sub_flow_on_one_rank", sub_flow_on_one_rank},
                   {"after_run", after_run, insert_late}});
}
