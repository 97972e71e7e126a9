// Random programs of tasks, waits and events through edat.h, against a model of the rules of the
// EDAT library: a persistent task holds the events of one run, later ones stay free for others;
// tasks are served before waits, each in the order of submission. One worker, so that the programs
// can be followed step by step.
#include "edat.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kSlots = 24;  // consumers of a program; each has functions of its own
constexpr std::array<const char*, 3> kNames{"a", "b", "c"};
using Run = std::pair<int, std::vector<int>>;  // slot, and the numbers that its events carried

enum class Kind { task, persistent, greedy, wait };

/// The rules.
class Model {
 public:
  void submit(int slot, Kind kind, const std::vector<int>& needs) {
    Consumer& consumer = kind == Kind::wait ? waits_[slot] : tasks_[slot];
    consumer = {kind, needs, std::vector<std::vector<int>>(needs.size())};
    take_what_is_free(slot, consumer);
  }

  // Events are numbered as fired.
  void fire(int name, int number) {
    for (auto* const consumers : {&tasks_, &waits_}) {
      for (auto& [slot, consumer] : *consumers) {
        for (std::size_t i = 0; i < consumer.needs.size(); ++i) {
          if (consumer.needs[i] != name || !consumer.got[i].empty()) continue;
          consumer.got[i].push_back(number);
          return run_if_complete(slot, consumer);
        }
      }
    }
    free_[name].push_back(number);
    std::ranges::sort(free_[name]);
  }

  void remove(int slot) {
    std::vector<std::pair<int, int>> held;  // number, name
    const Consumer gone = tasks_.extract(slot).mapped();
    for (std::size_t i = 0; i < gone.needs.size(); ++i) {
      for (const int number : gone.got[i]) held.emplace_back(number, gone.needs[i]);
    }
    std::ranges::sort(held);
    for (const auto& [number, name] : held) fire(name, number);
  }

  /// Greedy tasks begin, and take all that is free.
  void let_run() {
    while (!ready_greedy_.empty()) {
      const int slot = ready_greedy_.front();
      ready_greedy_.pop_front();
      Consumer& consumer = tasks_[slot];
      for (std::size_t i = 0; i < consumer.needs.size(); ++i) {
        for (int more = 0; (more = retrieve(consumer.needs[i])) >= 0;) {
          consumer.got[i].push_back(more);
        }
      }
      run(slot, consumer);
    }
  }

  int retrieve(int name) {
    if (free_[name].empty()) return -1;
    const int number = free_[name].front();
    free_[name].pop_front();
    return number;
  }

  [[nodiscard]] std::vector<int> submitted() const {
    std::vector<int> slots;
    for (const auto& [slot, consumer] : tasks_) slots.push_back(slot);
    return slots;
  }
  /// A name that a wait lacks, or -1.
  [[nodiscard]] int missing() const {
    for (const auto& [slot, wait] : waits_) {
      for (std::size_t i = 0; i < wait.needs.size(); ++i) {
        if (wait.got[i].empty()) return wait.needs[i];
      }
    }
    return -1;
  }

  std::vector<Run> runs;

 private:
  struct Consumer {
    Kind kind = Kind::task;
    std::vector<int> needs;
    std::vector<std::vector<int>> got;  // by dependency; several: greedy, as it begins
  };

  void take_what_is_free(int slot, Consumer& consumer) {
    for (std::size_t i = 0; i < consumer.needs.size(); ++i) {
      const int number = retrieve(consumer.needs[i]);
      if (number >= 0) consumer.got[i].push_back(number);
    }
    run_if_complete(slot, consumer);
  }

  void run_if_complete(int slot, Consumer& consumer) {
    if (std::ranges::any_of(consumer.got, &std::vector<int>::empty)) return;
    if (consumer.kind == Kind::greedy) {
      ready_greedy_.push_back(slot);
    } else {
      run(slot, consumer);
    }
  }

  void run(int slot, Consumer& consumer) {
    std::vector<int> numbers;
    for (const std::vector<int>& some : consumer.got) {
      numbers.insert(numbers.end(), some.begin(), some.end());
    }
    runs.emplace_back(slot, numbers);
    if (consumer.kind == Kind::wait) {
      waits_.erase(slot);
    } else if (consumer.kind == Kind::task) {
      tasks_.erase(slot);
    } else {
      consumer.got.assign(consumer.needs.size(), {});
      take_what_is_free(slot, consumer);
    }
  }

  // Slots are given in the order of submission.
  std::map<int, Consumer> tasks_;
  std::map<int, Consumer> waits_;
  std::deque<int> ready_greedy_;
  std::array<std::deque<int>, kNames.size()> free_;
};

// --- the program that runs

std::mutex mutex;
std::vector<Run> runs;    // guarded by mutex
bool has_ticked = false;  // likewise
std::condition_variable ticked;
std::vector<int> wanted[kSlots];  // by waits; written before these are submitted

void note(int slot, const EDAT_Event* events, int count) {
  Run run{slot, {}};
  for (int i = 0; i < count; ++i) run.second.push_back(*static_cast<int*>(events[i].data));
  const std::scoped_lock lock(mutex);
  runs.push_back(run);
}

using Function = void (*)(EDAT_Event*, int);

template <int slot>
void task(EDAT_Event* events, int count) {
  note(slot, events, count);
}

template <int slot>
void waiting(EDAT_Event* /*events*/, int /*count*/) {
  const std::vector<int>& needs = wanted[slot];
  const auto name = [&](std::size_t i) { return kNames[static_cast<std::size_t>(needs[i])]; };
  EDAT_Event* const events = needs.size() == 1 ? edatWait(1, EDAT_SELF, name(0))
                                               : edatWait(2, EDAT_ANY, name(0), EDAT_SELF, name(1));
  note(slot, events, static_cast<int>(needs.size()));
}

template <int... slots>
constexpr std::array<Function, kSlots> tasks_of(std::integer_sequence<int, slots...> /*all*/) {
  return {task<slots>...};
}
template <int... slots>
constexpr std::array<Function, kSlots> waits_of(std::integer_sequence<int, slots...> /*all*/) {
  return {waiting<slots>...};
}
constexpr auto kTasks = tasks_of(std::make_integer_sequence<int, kSlots>{});
constexpr auto kWaits = waits_of(std::make_integer_sequence<int, kSlots>{});

void tick(EDAT_Event* /*events*/, int /*count*/) {
  const std::scoped_lock lock(mutex);
  has_ticked = true;
  ticked.notify_one();
}

/// Returns when the tasks that were ready have run or wait.
void let_run() {
  edatSubmitTask(tick, 0);
  std::unique_lock lock(mutex);
  ticked.wait(lock, [] { return std::exchange(has_ticked, false); });
}

void submit_task(int slot, Kind kind, const std::vector<int>& needs) {
  const std::string text = "task " + std::to_string(slot);
  const char* const name = text.c_str();
  const Function function = kTasks[static_cast<std::size_t>(slot)];
  const char* const one = kNames[static_cast<std::size_t>(needs[0])];
  const char* const two = kNames[static_cast<std::size_t>(needs[needs.size() / 2])];
  const char* const three = kNames[static_cast<std::size_t>(needs.back())];
  const int count = static_cast<int>(needs.size());
  const auto submit = [&](auto call) {
    count == 1   ? call(function, name, 1, EDAT_SELF, one)
    : count == 2 ? call(function, name, 2, EDAT_ANY, one, EDAT_SELF, two)
                 : call(function, name, 3, EDAT_SELF, one, EDAT_ANY, two, EDAT_SELF, three);
  };
  if (kind == Kind::task) submit(edatSubmitNamedTask);
  if (kind == Kind::persistent) submit(edatSubmitPersistentNamedTask);
  if (kind == Kind::greedy) submit(edatSubmitPersistentNamedGreedyTask);
}

/// One random program on both sides.
class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) { runs.clear(); }

  bool run() {
    for (int step = 0; step < 40; ++step) {
      take_step();
      if (!agree()) return false;
    }
    return end();
  }

  [[nodiscard]] const Model& model() const { return model_; }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  void take_step() {
    const int kind = below(10);
    if (kind < 6) return fire(below(static_cast<int>(kNames.size())));
    if (kind == 9) {
      const std::vector<int> slots = model_.submitted();
      if (!slots.empty()) remove(slots[static_cast<std::size_t>(random_() % slots.size())]);
      return;
    }
    if (next_slot_ == kSlots) return;
    const int slot = next_slot_++;
    const Kind chosen = std::array{Kind::task, Kind::persistent, Kind::greedy,
                                   Kind::wait}[static_cast<std::size_t>(below(4))];
    std::vector<int> needs(static_cast<std::size_t>(1 + below(chosen == Kind::wait ? 2 : 3)));
    for (int& need : needs) need = below(static_cast<int>(kNames.size()));
    model_.submit(slot, chosen, needs);
    if (chosen != Kind::wait) return submit_task(slot, chosen, needs);
    wanted[slot] = needs;
    edatSubmitTask(kWaits[static_cast<std::size_t>(slot)], 0);
  }

  void fire(int name) {
    int number = next_number_++;
    model_.fire(name, number);
    edatFireEvent(&number, EDAT_INT, 1, EDAT_SELF, kNames[static_cast<std::size_t>(name)]);
  }

  void remove(int slot) {
    model_.remove(slot);
    edatRemoveTask(("task " + std::to_string(slot)).c_str());
  }

  bool agree() {
    model_.let_run();
    // A wait that goes on may come behind the tick.
    for (int i = 0; i < 1000; ++i) {
      let_run();
      const std::scoped_lock lock(mutex);
      if (runs.size() >= model_.runs.size()) break;
    }
    const std::scoped_lock lock(mutex);
    std::ranges::sort(runs);
    std::ranges::sort(model_.runs);
    return runs == model_.runs;
  }

  // All that is left is taken, so that the next program begins with nothing.
  bool end() {
    for (auto slots = model_.submitted(); !slots.empty(); slots = model_.submitted()) {
      remove(slots.front());
      if (!agree()) return false;
    }
    for (int name = model_.missing(); name >= 0; name = model_.missing()) {
      fire(name);
      if (!agree()) return false;
    }
    for (int name = 0; name < static_cast<int>(kNames.size()); ++name) {
      for (int number = 0; number >= 0;) {
        number = model_.retrieve(name);
        int count = 0;
        EDAT_Event* const events =
            edatRetrieveAny(&count, 1, EDAT_SELF, kNames[static_cast<std::size_t>(name)]);
        if ((count > 0 ? *static_cast<int*>(events[0].data) : -1) != number) return false;
      }
    }
    return true;
  }

  std::mt19937 random_;
  Model model_;
  int next_slot_ = 0;
  int next_number_ = 0;
};

void print(const char* who, const std::vector<Run>& all) {
  std::fprintf(stderr, "%s:", who);
  for (const auto& [slot, numbers] : all) {
    std::fprintf(stderr, " %d(", slot);
    for (const int number : numbers) std::fprintf(stderr, " %d", number);
    std::fprintf(stderr, " )");
  }
  std::fprintf(stderr, "\n");
}

}  // namespace

// matching [SEED]: that one, or many.
int main(int argc, char** argv) {
  setenv("EDAT_NUM_WORKERS", "1", 1);
  edatInit();
  const bool one = argc > 1;
  const unsigned first = one ? static_cast<unsigned>(std::atoi(argv[1])) : std::random_device()();
  for (unsigned i = 0; i < (one ? 1U : 100U); ++i) {
    Program program(first + i);
    if (program.run()) continue;
    std::fprintf(stderr, "seed %u: the library and the model differ\n", first + i);
    print("library", runs);
    print("model", program.model().runs);
    std::_Exit(1);
  }
  edatFinalise();
  return 0;
}
