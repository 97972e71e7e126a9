#pragma once
// Random programs of a sequential flow: their statements, and which ranks each one concerns.

#include <shoal/shoal.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace shoal::testing {

enum class DataKind { value, list, vector, matrix };

struct DatumPlan {
  DataKind kind = DataKind::value;
  int owner = 0;
  std::size_t size = 1;  // of a matrix the rows; it has two columns
  bool tagged = false;
};

struct Statement {
  enum class Kind {
    task,
    migrate,
    flush,
    flush_all,
    acquire,
    get,
    wait,
    wait_all,
    parts,
    renew,
    fan  // tasks on all ranks read the source; then, perhaps, a task on one of them changes it
  };
  enum class Place { owner, rank, cheapest };
  Kind kind = Kind::task;
  int target = 0;
  int source = 0;
  flow::Mode mode = flow::Mode::read_write;
  Place place = Place::owner;
  int rank = 0;
  int priority = 0;
  int room = -1;        // of a task without a source: the datum that its scratch memory is like
  int spawns = 0;       // of parts: updates of each; of a fan: 2 if its source is changed
  bool by_sub = false;  // inserted by a sub-flow
};

struct ProgramOptions {
  int ranks = 1;
  int statements = 40;
  int data_max = 6;
  bool pruned = false;
};

struct FlowProgram {
  int ranks = 1;
  bool pruned = false;
  std::vector<DatumPlan> data;
  std::vector<Statement> statements;
};

inline FlowProgram make_flow_program(std::uint64_t seed, const ProgramOptions& options) {
  std::mt19937_64 random(seed);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  std::mt19937_64 inserters(seed + 1);
  const bool has_sub = inserters() % 3 == 0;
  std::mt19937_64 rooms(seed + 2);
  FlowProgram program;
  program.ranks = options.ranks;
  program.pruned = options.pruned;
  const int count = 1 + below(options.data_max);
  for (int i = 0; i < count; ++i) {
    DatumPlan plan;
    plan.kind = static_cast<DataKind>(below(4));
    plan.owner = below(options.ranks);
    plan.size = below(8) == 0 ? 3000 : 1 + static_cast<std::size_t>(below(9));
    if (plan.kind == DataKind::value) plan.size = 1;
    plan.tagged = below(4) == 0 || options.pruned;
    program.data.push_back(plan);
  }
  for (int i = 0; i < options.statements; ++i) {
    Statement one;
    one.target = below(count);
    one.source = below(count);
    one.rank = below(options.ranks);
    const int what = below(20);
    using Kind = Statement::Kind;
    constexpr Kind kKinds[] = {Kind::migrate, Kind::flush, Kind::acquire,
                               Kind::get,     Kind::wait,  Kind::wait_all,
                               Kind::parts,   Kind::renew, Kind::flush_all};
    one.kind = what == 0 ? kKinds[below(9)] : Kind::task;
    if (what == 1) one.kind = Kind::parts;
    if (what == 2 && one.source != one.target) one.kind = Kind::fan;
    constexpr flow::Mode kModes[] = {flow::Mode::write, flow::Mode::read_write,
                                     flow::Mode::read_write, flow::Mode::commutative,
                                     flow::Mode::reduction};
    one.mode = kModes[below(5)];
    const int place = below(4);
    if (place == 0) one.place = Statement::Place::rank;
    if (place == 1) one.place = Statement::Place::cheapest;
    one.priority = below(3) - 1;
    one.spawns = 1 + below(2);
    one.by_sub = has_sub && inserters() % 2 == 0;
    const int room = static_cast<int>(rooms() % static_cast<unsigned>(count));
    if (one.kind == Kind::task && rooms() % 6 == 0 && room != one.target) {
      one.room = room;
      one.source = one.target;
      if (one.mode != flow::Mode::reduction) one.mode = flow::Mode::read_write;
    }
    program.statements.push_back(one);
  }
  return program;
}

/// A set of ranks, by bits.
using Ranks = std::uint32_t;

/// Finds the ranks that must insert each call of a program in a pruned flow: those that may run it,
/// own its data, use later what it changes, or have added by reduction to what it uses.
class Pruning {
 public:
  explicit Pruning(const FlowProgram& program)
      : all_((Ranks{1} << static_cast<unsigned>(program.ranks)) - 1),
        owner_(program.data.size()),
        adding_(program.data.size(), 0) {
    for (std::size_t d = 0; d < owner_.size(); ++d) owner_[d] = program.data[d].owner;
    for (const Statement& one : program.statements) add(program, one);
    for (std::size_t d = 0; d < owner_.size(); ++d) {
      call({{{static_cast<int>(d), flow::Mode::read}}, bit(program.data[d].owner)});
    }
    add_later_users();
  }
  /// In the order of the calls, those of a fan one by one; at last, for each datum, its end.
  [[nodiscard]] const std::vector<Ranks>& calls() const { return concerned_; }

 private:
  struct Use {
    int datum = 0;
    flow::Mode mode = flow::Mode::read;
  };
  struct Call {
    std::vector<Use> uses;
    Ranks parties = 0;     // that may run it; call() adds the owners
    bool changes = false;  // all that it uses, beside what the modes say
  };

  static Ranks bit(int rank) { return Ranks{1} << static_cast<unsigned>(rank); }

  void call(Call one) {
    for (const Use& use : one.uses) one.parties |= bit(owner_[static_cast<std::size_t>(use.datum)]);
    Ranks concerned = one.parties;
    for (const Use& use : one.uses) {
      Ranks& adding = adding_[static_cast<std::size_t>(use.datum)];
      if (use.mode == flow::Mode::reduction) {
        adding |= one.parties;
      } else {
        concerned |= std::exchange(adding, 0);
      }
    }
    concerned_.push_back(concerned);
    calls_.push_back(std::move(one));
  }

  void add(const FlowProgram& program, const Statement& one) {
    using Kind = Statement::Kind;
    using flow::Mode;
    const int target = one.target;
    switch (one.kind) {
      case Kind::task:
        call({{{target, one.mode}, {one.source, one.source == target ? one.mode : Mode::read}},
              one.place == Statement::Place::rank ? bit(one.rank) : 0});
        break;
      case Kind::migrate:
        call({{{target, Mode::read}}, bit(one.rank), true});
        owner_[static_cast<std::size_t>(target)] = one.rank;
        break;
      case Kind::flush:
        // Not the end of a reduction.
        call({{{target, Mode::reduction}}, adding_[static_cast<std::size_t>(target)], true});
        break;
      case Kind::flush_all:
      case Kind::wait_all:
        call({{}, all_});
        break;
      case Kind::acquire:
        call({{{target, Mode::read_write}}, bit(one.rank)});
        break;
      case Kind::get:
      case Kind::wait:
        call({{{target, Mode::read}}});
        break;
      case Kind::parts:
        for (int k = 0; k < one.spawns; ++k) call({{{target, Mode::read_write}}});
        break;
      case Kind::renew:
        break;
      case Kind::fan:
        for (int rank = 0; rank < program.ranks; ++rank) {
          call({{{target, Mode::commutative}, {one.source, Mode::read}}, bit(rank)});
        }
        if (one.spawns > 1) call({{{one.source, Mode::read_write}}, bit(one.rank)});
        break;
    }
  }

  void add_later_users() {
    std::vector<Ranks> later(owner_.size(), 0);
    for (std::size_t i = calls_.size(); i-- > 0;) {
      for (const Use& use : calls_[i].uses) {
        const bool changes =
            calls_[i].changes || flow::writes(use.mode) || use.mode == flow::Mode::reduction;
        if (changes) concerned_[i] |= later[static_cast<std::size_t>(use.datum)];
      }
      for (const Use& use : calls_[i].uses) {
        later[static_cast<std::size_t>(use.datum)] |= calls_[i].parties;
      }
    }
  }

  const Ranks all_;
  std::vector<int> owner_;     // of each datum, so far
  std::vector<Ranks> adding_;  // that may have partial values of it
  std::vector<Call> calls_;
  std::vector<Ranks> concerned_;
};

}  // namespace shoal::testing
