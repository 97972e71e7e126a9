#include "support/flow_program.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace shoal::testing {

namespace {

using Word = std::uint64_t;
using Words = FlowWords;

Word mix(Word a, Word b) {
  Word x = a * 0x9E3779B97F4A7C15U ^ (b + 0x7F4A7C15U);
  x ^= x >> 29U;
  return x * 0xBF58476D1CE4E5B9U;
}

// --- one statement's effect on plain words, used by tasks and by the reference alike

Word digest(std::span<const Word> words) {
  Word sum = 0;
  for (const Word word : words) sum = mix(sum, word);
  return sum;
}

void update(flow::Mode mode, Word number, std::span<Word> target, Word source) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Word fresh = mix(number * 1000 + i, source);
    if (mode == flow::Mode::write) {
      target[i] = fresh;
    } else if (mode == flow::Mode::read_write) {
      target[i] = mix(target[i], fresh);
    } else {
      target[i] += fresh;
    }
  }
}

Word initial_word(std::size_t datum, std::size_t index) { return mix(datum + 1, index); }
std::size_t words_of(const DatumPlan& plan) {
  return plan.kind == DataKind::matrix ? 2 * plan.size : plan.size;
}

/// Content of the scratch memory of a task.
Words room_words(Word number, const DatumPlan& plan) {
  Words words(words_of(plan));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = mix(number * 1000 + i, 3);
  return words;
}

// --- views of each kind of datum as words

Words to_words(const Word& value) { return {value}; }
Words to_words(const Words& list) { return list; }
Words to_words(std::span<const Word> view) { return {view.begin(), view.end()}; }
Words to_words(MatrixView<const Word> view) {
  Words words;
  for (std::size_t j = 0; j < view.columns(); ++j) {
    for (std::size_t i = 0; i < view.rows(); ++i) words.push_back(view(i, j));
  }
  return words;
}
void from_words(Word& value, const Words& words) { value = words.front(); }
void from_words(Words& list, const Words& words) { list = words; }
void from_words(std::span<Word> view, const Words& words) {
  std::ranges::copy(words, view.begin());
}
void from_words(MatrixView<Word> view, const Words& words) {
  for (std::size_t j = 0; j < view.columns(); ++j) {
    for (std::size_t i = 0; i < view.rows(); ++i) view(i, j) = words[j * view.rows() + i];
  }
}
template <class View>
Words read_words(const View& view) {
  if constexpr (std::is_same_v<View, std::span<Word>>) {
    return to_words(std::span<const Word>(view));
  } else if constexpr (std::is_same_v<View, MatrixView<Word>>) {
    return to_words(MatrixView<const Word>(view));
  } else {
    return to_words(view);
  }
}

/// Runs a program on one rank; all ranks do.
class FlowProgramRun {
 public:
  /// Tasks take `task_seconds` between reading and writing, in a simulated world.
  FlowProgramRun(World& world, const FlowProgram& program, const FlowOptions& options,
                 double task_seconds = 0)
      : world_(world),
        program_(program),
        task_seconds_(task_seconds),
        flow_(world, "random", with_pruning(options, program.pruned)) {
    for (std::size_t d = 0; d < program.data.size(); ++d) add(d);
    if (program.pruned) concerned_ = Pruning(program).calls();
    for (const Statement& one : program.statements) {
      if (one.by_sub && sub_ == nullptr) sub_.reset(new Flow(flow_.sub_flow("sub")));
    }
  }

  /// "" if all values are those of `expected`.
  std::string run(const std::vector<Words>& expected) {
    for (const Statement& one : program_.statements) {
      ++number_;
      std::visit([&](auto& data) { execute(one, data); }, at(one.target));
    }
    std::string difference;
    for (std::size_t d = 0; d < data_.size(); ++d) {
      std::visit(
          [&](auto& data) {
            if (!concerns()) return;
            const bool equal =
                program_.pruned ? is_at_home(data, d, expected[d]) : read_all(data) == expected[d];
            if (!equal) {
              difference += "datum " + std::to_string(d) + " on rank " +
                            std::to_string(world_.rank().value()) + "; ";
            }
            flow_.unregister(data);
          },
          data_[d]);
      if (memory_[d].empty()) continue;
      Words home;
      const DatumPlan& plan = program_.data[d];
      const std::size_t stride = plan.size + 3;
      for (std::size_t i = 0; i < words_of(plan); ++i) {
        home.push_back(
            memory_[d][plan.kind == DataKind::matrix ? i / plan.size * stride + i % plan.size : i]);
      }
      if (home != expected[d]) difference += "memory of datum " + std::to_string(d) + "; ";
    }
    wait_all();
    return difference;
  }

 private:
  using Any = std::variant<Data<Word>, Data<Words>, Data<std::span<Word>>, Data<MatrixView<Word>>>;

  static FlowOptions with_pruning(FlowOptions options, bool pruned) {
    options.pruned = pruned;
    return options;
  }
  /// The next call is to be inserted on this rank.
  bool concerns() {
    if (!program_.pruned) return true;
    return (concerned_.at(next_call_++) >> static_cast<unsigned>(world_.rank().value()) & 1U) != 0;
  }
  Flow& inserter(const Statement& one) { return one.by_sub ? *sub_ : flow_; }
  void wait_all() {
    flow_.wait();
    if (sub_ != nullptr) sub_->wait();
  }

  Any& at(int index) { return data_[static_cast<std::size_t>(index)]; }

  void add(std::size_t d) {
    const DatumPlan& plan = program_.data[d];
    DataOptions options{.owner = Rank(plan.owner), .name = "d" + std::to_string(d)};
    if (plan.tagged) options.tag = 100 + d;
    const bool here = plan.owner == world_.rank();
    memory_.emplace_back();
    Words& memory = memory_.back();
    Words words(words_of(plan));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = initial_word(d, i);
    switch (plan.kind) {
      case DataKind::value:
        if (here) memory = words;
        data_.emplace_back(flow_.variable<Word>(here ? memory.data() : nullptr, options));
        break;
      case DataKind::list:
        data_.emplace_back(flow_.data(here ? words : Words(), options));
        break;
      case DataKind::vector:
        if (here) memory = words;
        data_.emplace_back(flow_.vector<Word>(memory.data(), plan.size, options));
        break;
      case DataKind::matrix: {
        const std::size_t stride = plan.size + 3;
        if (here) {
          memory.resize(2 * stride);
          from_words(MatrixView<Word>(memory.data(), plan.size, 2, stride), words);
        }
        data_.emplace_back(flow_.matrix<Word>(memory.data(), plan.size, 2, stride, options));
        break;
      }
    }
    const std::size_t count = words.size();
    std::visit(
        [&](auto& data) {
          flow_.set_reduction(
              data, [count](auto&& view) { from_words(view, Words(count, 0)); },
              [](auto&& into, const auto& from) {
                Words sum = read_words(into);
                const Words more = to_words(from);
                for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
                from_words(into, sum);
              });
        },
        data_.back());
  }

  template <class T>
  Words read_all(Data<T> data) {
    if constexpr (std::is_same_v<T, Word> || std::is_same_v<T, Words>) {
      return to_words(flow_.get(data));
    } else {
      Words words;  // a view would point to the copy: read it where it is
      for (int rank = 0; rank < world_.size(); ++rank) {
        auto mine = flow_.acquire(read(data), on_rank(Rank(rank)));
        if (mine.here()) words = to_words(mine.get());
      }
      return words;
    }
  }

  template <class T>
  bool is_at_home(Data<T> data, std::size_t d, const Words& expected) {
    const auto mine = flow_.acquire(read(data), on_rank(Rank(program_.data[d].owner)));
    return !mine.here() || to_words(mine.get()) == expected;
  }

  template <class T>
  void execute(const Statement& one, Data<T>& data) {
    using Kind = Statement::Kind;
    if (one.kind == Kind::renew) return;
    if (one.kind == Kind::parts) return update_parts(one, data);
    if (one.kind == Kind::fan) return insert_fan(one, data);
    if (!concerns()) return;
    Flow& flow = inserter(one);
    switch (one.kind) {
      case Kind::task:
        insert_task(one, data);
        break;
      case Kind::migrate:
        flow.migrate(data, Rank(one.rank));
        break;
      case Kind::flush:
        flow.flush(data);
        break;
      case Kind::flush_all:
        flow.flush();
        break;
      case Kind::acquire: {
        auto mine = flow.acquire(read_write(data), on_rank(Rank(one.rank)));
        if (mine.here()) change(mine.get(), number_);
        break;
      }
      case Kind::get: {
        const auto mine = flow.acquire_async(read(data)).get();
        if (mine.here()) checksum_ += digest(to_words(mine.get()));
        break;
      }
      case Kind::wait:
        flow.wait(data);
        break;
      default:
        wait_all();
        break;
    }
  }

  void take_time() const {
    if (task_seconds_ > 0) compute(Cost::of_seconds(task_seconds_), [] {});
  }

  template <class View>
  void change(View&& view, Word number) const {
    Words words = read_words(view);
    take_time();
    for (Word& word : words) word = mix(word, number);
    from_words(view, words);
  }

  template <class T>
  void update_parts(const Statement& one, Data<T>& data) {
    const Word number = number_;
    Flow& flow = inserter(one);
    const auto all = [&](const auto& parts) {
      int rank = one.rank;
      for (const auto& part : parts) {
        rank = (rank + 1) % world_.size();
        if (one.priority > 0) flow.migrate(part, Rank(rank));
        for (int k = 0; k < one.spawns; ++k) {
          flow.insert([this, number](auto&& view) { this->change(view, number); },
                      read_write(part));
        }
      }
      flow.unpartition(data);
    };
    if (program_.pruned || std::is_same_v<T, Word> || std::is_same_v<T, Words>) {
      for (int k = 0; k < one.spawns; ++k) {
        if (!concerns()) continue;
        flow.insert([this, number](auto&& value) { this->change(value, number); },
                    read_write(data));
      }
    } else if constexpr (std::is_same_v<T, std::span<Word>>) {
      all(flow.partition(data, 3));
    } else if constexpr (std::is_same_v<T, MatrixView<Word>>) {
      all(flow.partition(data, 2, 2));
    }
  }

  template <class T>
  void insert_task(const Statement& one, Data<T>& data) {
    if (one.room >= 0 && one.mode == flow::Mode::reduction) {
      return insert_with_room(one, reduction(data));
    }
    if (one.room >= 0) return insert_with_room(one, read_write(data));
    switch (one.mode) {
      case flow::Mode::write:
        return insert_in_mode(one, write(data));
      case flow::Mode::commutative:
        return insert_in_mode(one, commutative(data));
      case flow::Mode::reduction:
        return insert_in_mode(one, reduction(data));
      default:
        return insert_in_mode(one, read_write(data));
    }
  }

  template <class Request>
  void insert_in_mode(const Statement& one, const Request& request) {
    const Word number = number_;
    const flow::Mode mode = one.mode;
    const std::size_t count = words_of(program_.data[static_cast<std::size_t>(one.target)]);
    if (one.source == one.target) {
      insert_placed(
          one,
          [this, mode, number, count](auto&& target) {
            Words words = mode == flow::Mode::write ? Words(count) : read_words(target);
            this->take_time();
            update(mode, number, words, 7);
            from_words(target, words);
          },
          request);
      return;
    }
    std::visit(
        [&](auto& source) {
          insert_placed(
              one,
              [this, mode, count](auto&& target, const auto& from, Word id) {
                this->apply(mode, count, target, from, id);
              },
              request, read(source), number);
        },
        at(one.source));
  }

  /// The task leaves its worker to others while it uses its scratch memory.
  template <class Request>
  void insert_with_room(const Statement& one, const Request& request) {
    const Words content = room_words(number_, program_.data[static_cast<std::size_t>(one.room)]);
    std::visit(
        [&](auto& room) {
          insert_placed(
              one,
              [this, mode = one.mode, number = number_, content](auto&& target, auto&& own) {
                from_words(own, content);
                yield();
                this->take_time();
                Words words = read_words(target);
                update(mode, number, words, digest(read_words(own)));
                from_words(target, words);
              },
              request, scratch(room));
        },
        at(one.room));
  }

  template <class Target, class Source>
  void apply(flow::Mode mode, std::size_t count, Target&& target, const Source& from,
             Word id) const {
    Words words = mode == flow::Mode::write ? Words(count) : read_words(target);
    take_time();
    update(mode, id, words, digest(to_words(from)));
    from_words(target, words);
  }

  template <class T>
  void insert_fan(const Statement& one, Data<T>& data) {
    const Word number = number_;
    const auto add = [this](auto&& target, const auto& from, Word id) {
      this->apply(flow::Mode::commutative, 0, target, from, id);
    };
    Flow& flow = inserter(one);
    std::visit(
        [&](auto& source) {
          for (int rank = 0; rank < program_.ranks; ++rank) {
            if (!concerns()) continue;
            flow.insert(add, commutative(data), read(source), number + static_cast<Word>(rank),
                        on_rank(Rank(rank)), with_priority(rank % 3));
          }
          if (one.spawns < 2 || !concerns()) return;
          const auto renew = [this, number](auto&& target) {
            Words words = read_words(target);
            this->take_time();
            update(flow::Mode::read_write, number, words, 7);
            from_words(target, words);
          };
          flow.insert(renew, read_write(source), on_rank(Rank(one.rank)));
        },
        at(one.source));
  }

  template <class F, class... Args>
  void insert_placed(const Statement& one, F f, const Args&... args) {
    flow::InsertOptions options{.priority = one.priority};
    if (one.place == Statement::Place::rank) options.rank = one.rank;
    if (one.place == Statement::Place::cheapest) options.rank = flow::InsertOptions::kCheapest;
    inserter(one).insert(std::move(f), args..., options);
  }

  World& world_;
  const FlowProgram& program_;
  const double task_seconds_;
  std::vector<Words> memory_;  // of the program, on the owners
  Flow flow_;
  std::unique_ptr<Flow> sub_;
  std::vector<Any> data_;
  std::vector<Ranks> concerned_;  // by each call of a pruned program
  std::size_t next_call_ = 0;
  Word number_ = 0;
  Word checksum_ = 0;
};

}  // namespace

std::vector<FlowWords> run_sequentially(const FlowProgram& program) {
  std::vector<Words> data;
  for (std::size_t d = 0; d < program.data.size(); ++d) {
    Words words(words_of(program.data[d]));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = initial_word(d, i);
    data.push_back(std::move(words));
  }
  Word number = 0;
  for (const Statement& one : program.statements) {
    ++number;
    Words& target = data[static_cast<std::size_t>(one.target)];
    if (one.kind == Statement::Kind::task) {
      Word source = 7;
      if (one.source != one.target) source = digest(data[static_cast<std::size_t>(one.source)]);
      if (one.room >= 0) {
        source = digest(room_words(number, program.data[static_cast<std::size_t>(one.room)]));
      }
      update(one.mode, number, target, source);
    } else if (one.kind == Statement::Kind::fan) {
      Words& source = data[static_cast<std::size_t>(one.source)];
      for (int rank = 0; rank < program.ranks; ++rank) {
        update(flow::Mode::commutative, number + static_cast<Word>(rank), target, digest(source));
      }
      if (one.spawns > 1) update(flow::Mode::read_write, number, source, 7);
    } else if (one.kind == Statement::Kind::acquire || one.kind == Statement::Kind::parts) {
      const int times = one.kind == Statement::Kind::parts ? one.spawns : 1;
      for (int k = 0; k < times; ++k) {
        for (Word& word : target) word = mix(word, number);
      }
    }
  }
  return data;
}

std::string run_flow_program(World& world, const FlowProgram& program, const FlowOptions& options,
                             const std::vector<FlowWords>& expected, double task_seconds) {
  return FlowProgramRun(world, program, options, task_seconds).run(expected);
}

}  // namespace shoal::testing
