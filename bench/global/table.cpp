// Beside the hits of a cache: a hash table of the standard library, of values, or of shared objects
// under a lock, which tasks on several workers need.

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "global/kernels.hpp"

namespace {

using bench::global::Word;

class Table {
 public:
  explicit Table(bool shared) : is_shared_(shared) {}

  void prepare(std::size_t count) {
    values_.clear();
    objects_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      values_[i * sizeof(Word)] = 0;
      objects_[i * sizeof(Word)] = std::make_shared<const Word>(0);
    }
  }
  Word cached(std::int64_t count) {
    Word sum = 0;
    std::size_t at = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      sum += is_shared_ ? *object(at * sizeof(Word)) : values_.find(at * sizeof(Word))->second;
      at = bench::global::next_word(at, values_.size());
    }
    return sum;
  }

 private:
  std::shared_ptr<const Word> object(std::uint64_t offset) {
    const std::lock_guard lock(mutex_);
    return objects_.find(offset)->second;
  }

  const bool is_shared_;
  std::unordered_map<std::uint64_t, Word> values_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Word>> objects_;
};

int run(const bench::global::Options& options, bool shared) {
  bench::limit_time(options.run);
  Table table(shared);
  bench::global::Side side;
  side.name = shared ? "locked_table" : "table";
  side.prepare = [&](std::size_t count) { table.prepare(count); };
  side.cached = [&](std::int64_t count) { return table.cached(count); };
  side.barrier = [] {};
  side.all_hold = [](bool holds) { return holds; };
  return bench::global::measure(options, side);
}

}  // namespace

int main(int argc, char** argv) {
  bench::global::Options options;
  bool shared = false;
  const auto add = [&](cli::App& app) {
    bench::global::add_options(app, options);
    app.add_flag("--shared", shared, "Shared objects, under a lock");
  };
  const bench::Program program{"global_table", "Look-ups in a hash table.", add,
                               [&] { return run(options, shared); }};
  return bench::run_program(program, {argv + 1, argv + argc}, true);
}
