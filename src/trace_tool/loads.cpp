#include "trace_tool/loads.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace shoal::trace_tool {

namespace {

/// Goes through the changes of a run in the order of time.
class Sweep {
 public:
  explicit Sweep(const Model& model) : model_(model) {
    add_workers();
    add_tasks();
    add_parks();
    add_makings();
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Change& a, const Change& b) { return a.time < b.time; });
  }

  std::map<int, RankLoad> run() {
    for (const Change& change : changes_) {
      go_to(change.time);
      State& state = ranks_[change.rank];
      settle(state);
      apply(change, state);
    }
    go_to(model_.duration);
    std::map<int, RankLoad> all;
    for (auto& [rank, state] : ranks_) {
      settle(state);
      all.emplace(rank, std::move(state.load));
    }
    return all;
  }

 private:
  enum class What : std::uint8_t { starting, idle, ready, bound, lock, making };
  struct Change {
    std::int64_t time = 0;
    int rank = 0;
    What what = What::idle;
    int by = 0;
    std::uint32_t key = 0;  // worker, or name of the lock
  };
  struct State {
    int idle = 0;
    int ready = 0;
    std::map<std::uint32_t, int> bound;
    std::map<std::uint32_t, int> locks;
    std::map<std::uint32_t, int> makings;
    std::set<std::uint32_t> idle_workers;  // and those whose threads have not begun
    std::int64_t since = 0;                // the last change
    std::int64_t all_idle_then = 0;
    RankLoad load;
  };

  void add(std::int64_t begin, std::int64_t end, int rank, What what, std::uint32_t key = 0) {
    if (end <= begin) return;
    changes_.push_back({begin, rank, what, 1, key});
    changes_.push_back({end, rank, what, -1, key});
  }

  void add_workers() {
    for (std::uint32_t track = 0; track < model_.usage.size(); ++track) {
      if (!is_worker(model_, track)) continue;
      const int rank = model_.rank_of(track);
      const auto worker = static_cast<std::uint32_t>(model_.input().track(track).worker);
      State& state = ranks_[rank];
      ++state.load.workers;
      std::int64_t free_since = model_.usage[track].began;
      state.load.began[static_cast<int>(worker)] = free_since;
      add(0, free_since, rank, What::starting, worker);
      for (const Stretch& stretch : model_.busy[track]) {
        add(free_since, stretch.begin, rank, What::idle, worker);
        state.load.busy += stretch.end - stretch.begin;
        free_since = stretch.end;
      }
      add(free_since, model_.duration, rank, What::idle, worker);
    }
  }

  void add_tasks() {
    for (const Task& task : model_.tasks) {
      if (task.ready == kNever || task.start == kNever || task.track == kNone) continue;
      const int rank = model_.rank_of(task.track);
      if (!ranks_.contains(rank)) continue;
      const bool is_bound = task.bound_to >= 0;
      add(task.ready, task.start, rank, is_bound ? What::bound : What::ready,
          static_cast<std::uint32_t>(std::max(task.bound_to, 0)));
      if (is_bound) ++ranks_[rank].load.bound_names[task.bound_to][task.name];
    }
  }

  void add_parks() {
    for (const Park& park : model_.parks) {
      if (!is_lock_wait(model_, park.reason)) continue;
      const int rank = model_.rank_of(park.track);
      if (ranks_.contains(rank)) add(park.begin, park.end, rank, What::lock, park.reason);
    }
  }

  void add_makings() {
    constexpr std::uint32_t kMany = 20;
    for (const Making& making : model_.makings) {
      const int rank = model_.rank_of(making.track);
      if (making.count < kMany || !ranks_.contains(rank)) continue;
      add(making.begin, making.end, rank, What::making, model_.tasks[making.task].name);
    }
  }

  void go_to(std::int64_t time) {
    all_idle_ += (time - now_) * idle_;
    now_ = time;
  }

  static void apply_to(std::set<std::uint32_t>& workers, const Change& change) {
    if (change.by > 0) {
      workers.insert(change.key);
    } else {
      workers.erase(change.key);
    }
  }

  void apply(const Change& change, State& state) {
    switch (change.what) {
      case What::starting:
        apply_to(state.idle_workers, change);
        break;
      case What::idle:
        state.idle += change.by;
        idle_ += change.by;
        apply_to(state.idle_workers, change);
        break;
      case What::ready:
        state.ready += change.by;
        break;
      case What::bound:
        state.bound[change.key] += change.by;
        break;
      case What::lock:
        state.locks[change.key] += change.by;
        break;
      case What::making:
        state.makings[change.key] += change.by;
        break;
    }
  }

  /// Adds the time since the last change of the rank.
  void settle(State& state) {
    const std::int64_t ns = now_ - state.since;
    RankLoad& load = state.load;
    int waiting = state.ready;
    load.idle += ns * state.idle;
    for (const auto& [worker, count] : state.bound) {
      if (count == 0) continue;
      waiting += count;
      // A worker that is idle itself is about to take one: it may just not have a processor.
      const int kept_off = std::min(state.idle, count);
      if (state.idle_workers.contains(worker) || kept_off == 0 || ns == 0) continue;
      load.bound[static_cast<int>(worker)] += ns * kept_off;
      load.bound_times.push_back({state.since, now_, static_cast<int>(worker)});
    }
    for (const auto& [lock, count] : state.locks) {
      if (count > 0) load.locks[lock] += ns * std::min(state.idle, count);
    }
    for (const auto& [maker, count] : state.makings) {
      if (count > 0 && waiting == 0) load.insertion[maker] += ns * state.idle;
    }
    // No worker of its own is among those that are idle.
    if (waiting > 0 && state.idle == 0) load.others_idle += all_idle_ - state.all_idle_then;
    state.since = now_;
    state.all_idle_then = all_idle_;
  }

  const Model& model_;
  std::vector<Change> changes_;
  std::map<int, State> ranks_;
  std::int64_t now_ = 0;
  std::int64_t all_idle_ = 0;  // time of idle workers of all ranks so far
  int idle_ = 0;               // workers of all ranks now
};

/// Numbers of a list such as "0-3,8".
std::set<int> numbers_of(const std::string& list) {
  std::set<int> all;
  std::size_t at = 0;
  constexpr int kMost = 1 << 16;
  const auto number = [&]() -> int {
    int value = -1;
    for (; at < list.size() && list[at] >= '0' && list[at] <= '9'; ++at) {
      value = std::min(std::max(value, 0) * 10 + (list[at] - '0'), kMost);
    }
    return value;
  };
  while (at < list.size()) {
    const int first = number();
    int last = first;
    if (at < list.size() && list[at] == '-') {
      ++at;
      last = number();
    }
    for (int i = std::max(first, 0); i <= last; ++i) all.insert(i);
    ++at;
  }
  return all;
}

int number_of(const nlohmann::ordered_json& process, const char* key) {
  const auto text = process.find(key);
  if (text == process.end() || !text->is_string()) return 0;
  const std::set<int> numbers = numbers_of(text->get<std::string>());
  return numbers.size() == 1 ? *numbers.begin() : 0;
}

/// Hosts by process: those of processes that have told theirs.
std::map<int, std::string> hosts_of_processes(const Model& model) {
  std::map<int, std::string> hosts;
  for (const auto& process : model.input().processes()) {
    const std::string host = fact_of(process, "host");
    if (!host.empty()) hosts[process.value("process", 0)] = host;
  }
  return hosts;
}

/// Returns whether a process ran on a virtual machine, or on one that may be. Traces of versions
/// that did not record it have the hints that they had.
bool may_be_held(const Model& model) {
  const auto& processes = model.input().processes();
  return std::any_of(processes.begin(), processes.end(), [](const auto& process) {
    const std::string is_virtual = fact_of(process, "virtual_machine");
    return !is_virtual.empty() && is_virtual != "no";
  });
}

/// Whether the system chose the processors of a process's workers, which may share one while
/// another is idle.
bool may_be_placement(const Model& model) {
  const auto& processes = model.input().processes();
  return std::any_of(processes.begin(), processes.end(),
                     [](const auto& process) { return fact_of(process, "pin") == "none"; });
}

std::int64_t ns_of(const nlohmann::ordered_json& process, const char* key) {
  std::int64_t ns = 0;
  const std::string text = fact_of(process, key);
  std::from_chars(text.data(), text.data() + text.size(), ns);
  return ns;
}

/// Time for which the hosts of virtual machines held processors during the run: all processes of a
/// machine have recorded the same time.
std::int64_t stolen_ns(const Model& model) {
  std::map<std::string, std::int64_t> machines;
  for (const auto& process : model.input().processes()) {
    std::int64_t& most = machines[fact_of(process, "host")];
    most = std::max(most, ns_of(process, "stolen_ns"));
  }
  std::int64_t sum = 0;
  for (const auto& [host, ns] : machines) sum += ns;
  return sum;
}

}  // namespace

bool is_lock_wait(const Model& model, NameId reason) {
  return model.input().name(reason).starts_with("lock() of ");
}

// In a simulated run a worker may have done nothing, nor have slept.
bool is_worker(const Model& model, std::uint32_t track) {
  const Usage& usage = model.usage[track];
  return usage.task_count > 0 || usage.asleep > 0 ||
         model.input().track(track).name.starts_with("worker ");
}

std::map<int, RankLoad> loads_of(const Model& model) { return Sweep(model).run(); }

std::map<int, std::string> hosts_of_ranks(const Model& model) {
  std::map<int, std::string> hosts;
  for (const auto& process : model.input().processes()) {
    if (fact_of(process, "simulated") == "yes") return hosts;
  }
  const std::map<int, std::string> host_of = hosts_of_processes(model);
  for (std::uint32_t track = 0; track < model.usage.size(); ++track) {
    const auto host = host_of.find(model.input().track(track).process);
    if (host != host_of.end()) hosts.emplace(model.rank_of(track), host->second);
  }
  return hosts;
}

std::map<std::string, HostShape> hosts_of(const Model& model) {
  std::map<std::string, HostShape> hosts;
  std::map<int, std::string> host_of = hosts_of_processes(model);
  std::map<std::string, std::set<int>> masks;
  std::map<std::string, int> cores;
  const auto& processes = model.input().processes();
  if (processes.empty()) return hosts;
  for (const auto& process : processes) {
    const std::string host = fact_of(process, "host");
    hosts[host].processors = std::max(hosts[host].processors, number_of(process, "processors"));
    cores[host] = std::max(cores[host], number_of(process, "cores"));
    masks[host].merge(numbers_of(fact_of(process, "mask")));
  }
  for (auto& [host, shape] : hosts) {
    // A quota may allow less than the mask.
    const int masked = static_cast<int>(masks[host].size());
    const bool has_quota = processes.size() == 1 && cores[host] > 0 && cores[host] < masked;
    shape.allowed = masked == 0 || has_quota ? cores[host] : masked;
    if (has_quota) shape.processors = 0;
  }
  for (std::uint32_t track = 0; track < model.usage.size(); ++track) {
    if (model.usage[track].task_count == 0) continue;
    ++hosts[host_of[model.input().track(track).process]].workers;
  }
  return hosts;
}

// The operating system has counted from the first event to the last, with the pauses of the
// recording between them, and what the host took also before and after. The threads that write the
// trace are no others; where a host has processors besides those of the workers, they run there.
Disturbance disturbance_of(const Model& model) {
  Disturbance all;
  all.may_be_held = may_be_held(model);
  all.may_be_placement = may_be_placement(model);
  if (!model.has_regions()) {
    all.stolen =
        static_cast<double>(stolen_ns(model)) / std::max(1.0, static_cast<double>(model.duration));
  }
  std::int64_t waited = 0;
  std::int64_t longest = 0;
  std::int64_t ran = 0;
  std::int64_t busy = 0;
  std::int64_t whole = 0;
  for (std::uint32_t track = 0; track < model.usage.size(); ++track) {
    const Usage& usage = model.usage[track];
    if (usage.kept_waiting == kNever || usage.ran == kNever || !is_worker(model, track)) continue;
    waited += usage.kept_waiting;
    longest = std::max(longest, usage.kept_waiting);
    ran += usage.ran;
    busy += usage.tasks + usage.handlers;
    whole += model.whole;
    ++all.workers;
  }
  if (whole == 0) return all;
  all.is_known = true;
  int processors = 0;
  for (const auto& [host, shape] : hosts_of(model)) processors += shape.allowed;
  if (processors <= all.workers) {
    std::int64_t writers = 0;
    for (const auto& process : model.input().processes()) writers += ns_of(process, "writer_ns");
    all.writer = static_cast<double>(std::min(longest, writers)) / static_cast<double>(model.whole);
    waited = std::max<std::int64_t>(0, waited - writers);
    longest = std::max<std::int64_t>(0, longest - writers);
  }
  all.share = static_cast<double>(waited) / static_cast<double>(whole);
  all.most = static_cast<double>(longest) / static_cast<double>(model.whole);
  all.on_processors =
      busy == 0 ? 1 : std::min(1.0, static_cast<double>(ran) / static_cast<double>(busy));
  if (processors > 0) {
    all.pressure = static_cast<double>(ran) /
                   (static_cast<double>(model.whole) * static_cast<double>(processors));
  }
  return all;
}

}  // namespace shoal::trace_tool
