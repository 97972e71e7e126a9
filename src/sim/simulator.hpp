#pragma once
// Virtual time and one thread: the environment of a simulated world.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/net/packet.hpp>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace shoal::sim {

enum class EventKind : std::uint32_t { step, departure, arrival, payload, mishap };

/// One event. The meaning of a and b depends on the kind: see describe().
struct TraceEvent {
  std::uint64_t time_ns = 0;
  EventKind kind = EventKind::step;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t lane = 0;
  std::uint64_t detail = 0;
  bool operator==(const TraceEvent&) const = default;
};

/// "12.345 us: packet 3 from rank 1 to rank 2 arrives".
std::string describe(const TraceEvent& event);
/// Returns the text of an event without its time.
std::string what_happened(const TraceEvent& event);

/// A file without a name, in which one run records and the next one compares.
class Recording {
 public:
  /// Errors: Error when no temporary file can be made.
  Recording();
  void add(const TraceEvent& event);
  /// Writes added events to the file, visible to other processes.
  void flush();
  /// The file's position becomes that of the first event.
  void rewind();
  /// Reads the next event; returns false at the end.
  bool read(TraceEvent& event);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

class Trace {
 public:
  /// Records the events as well, or compares them with recorded ones.
  void record_into(Recording& recording) { recording_ = &recording; }
  void compare_with(Recording& recording) { expected_ = &recording; }

  /// Adds an event, or compares it with the recorded one. **Errors**: Error naming the first event
  /// that differs.
  void add(const TraceEvent& event);
  /// Called when the run has ended. **Errors**: as add(), when the recorded run has further events.
  void finish();

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The last events, the oldest first, one line each.
  [[nodiscard]] std::vector<std::string> last_lines() const;

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t count_ = 0;
  std::deque<TraceEvent> last_;
  Recording* recording_ = nullptr;
  Recording* expected_ = nullptr;
};

/// Keeps the last events: of tasks and handlers by name, and of packets by their messages. Events
/// of completion detection are recorded on request only.
class Log {
 public:
  /// The names of the messages in a packet.
  using Names = std::function<std::vector<std::string>(const net::Packet&)>;

  /// Keeps up to `count` happenings from now on.
  void keep(std::size_t count, bool detection, Names names);
  [[nodiscard]] bool is_kept() const { return count_max_ > 0; }

  /// Logs an event of a task or handler at a worker.
  void add(std::uint64_t time_ns, int rank, int worker, env::Happening what,
           const std::string& name);
  /// A packet leaves or arrives.
  void add(const TraceEvent& event, const net::Packet& packet);
  /// Anything else that a trace has, such as the arrival of a damaged packet.
  void add(const TraceEvent& event);

  /// Returns the lines in the order of time, with a column for each rank if there are few.
  [[nodiscard]] std::vector<std::string> lines(int ranks) const;

 private:
  struct Entry {
    std::uint64_t time_ns = 0;
    std::uint32_t rank = 0;
    char sign = ' ';
    std::string text;
  };
  void add(Entry entry);

  std::size_t count_max_ = 0;
  bool detection_ = false;
  Names names_;
  std::deque<Entry> entries_;
};

/// How the seed disturbs a run. All keep the order of one lane between two ranks.
enum class OrderKind {
  time,        // nothing: things take as long as the models say; the seed decides ties
  uniform,     // steps and packets take up to 16 and 64 times as long, each its own time
  priorities,  // workers differ in speed by powers of two; three times one is set back far (PCT)
  slow_rank,   // one rank is 64 times as slow
  slow_link,   // packets from one rank to another one take 1000 times as long
  late,        // one packet in 8 takes 1000 times as long
};

/// Draws from the seed how long a step or a packet takes. "PCT": random priorities with few change
/// points (Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding
/// Bugs", ASPLOS 2010), here as speeds, so that one agenda by time serves all orders.
class Order {
 public:
  Order(OrderKind kind, std::uint64_t seed, int ranks, int workers_per_rank);

  /// Virtual duration of a step of the worker, of which the model gives `cost_ns`.
  std::uint64_t step_ns(int rank, int worker, std::uint64_t cost_ns);
  /// Time between departure and arrival of a packet, of which the model gives `latency_ns`.
  std::uint64_t travel_ns(int source, int target, std::uint64_t latency_ns);
  /// Decides between things at the same time.
  std::uint64_t tie() { return random_(); }

 private:
  std::uint64_t draw(std::uint64_t bound) { return random_() % bound; }

  const OrderKind kind_;
  const int workers_per_rank_;
  std::mt19937_64 random_;
  int victim_ = 0;                            // the slow rank, or the source of the slow link
  int victim_target_ = 0;                     // its target
  std::vector<std::uint64_t> slowness_;       // of each worker
  std::vector<std::uint64_t> change_points_;  // numbers of steps
  std::uint64_t steps_ = 0;
};

class Memory;

/// How the steppables given to drive() map to ranks: those of rank r are r * workers_per_rank and
/// the following ones.
struct Shape {
  int ranks = 1;
  int workers_per_rank = 1;
};

/// Origin of the cost of work.
enum class CostKind {
  declared,  // what the program says
  dry,       // the same, and the work is not done
  measured,  // what it takes on this machine: not the same every time
};

struct SimulatorOptions {
  std::uint64_t seed = 0;
  OrderKind order = OrderKind::time;
  CostKind costs = CostKind::declared;
  std::uint64_t step_ns = 1000;    // what a step costs that charges nothing
  double flops_per_second = 10e9;  // for costs in flops
  std::uint64_t limit_ns = 0;      // drive() gives up at this time; 0: never
};

/// Thrown by Simulator::drive() when the virtual time reaches the limit.
class TimeLimit : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "the time limit is reached"; }
};

/// Thrown by Simulator::drive() when workers are stepped without end and nothing moves.
class PollsForEver : public std::exception {
 public:
  explicit PollsForEver(std::uint64_t since_ns) : since_ns_(since_ns) {}
  [[nodiscard]] const char* what() const noexcept override { return "workers poll for ever"; }
  /// Returns the time since which nothing has moved.
  [[nodiscard]] std::uint64_t since_ns() const { return since_ns_; }

 private:
  std::uint64_t since_ns_;
};

/// Drives the workers of all ranks and the network from one agenda, ordered by virtual time. A
/// sleeping worker is not stepped until it is unparked. All random choices are drawn from the seed,
/// so the same program with the same options runs the same way.
///
/// **Caller**: everything from the one thread that called drive(). Threads of the program must not
/// call into the world.
class Simulator final : public env::Env {
 public:
  Simulator(const SimulatorOptions& options, const Shape& shape);
  ~Simulator() override;

  [[nodiscard]] std::uint64_t now_ns() override { return now_ns_ + spent_ns(); }
  [[nodiscard]] std::uint64_t random_seed() override { return order_.tie(); }
  [[nodiscard]] std::unique_ptr<env::Parker> make_parker() override;
  void yield() override {}
  [[nodiscard]] bool is_simulated() const override { return true; }
  [[nodiscard]] bool charge(const Cost& cost) override;
  [[nodiscard]] bool observes() const override { return log_.is_kept(); }
  void observe(env::Happening what, const std::string& name) override;
  [[nodiscard]] bool charges() const override { return true; }
  /// Errors: NoProgress when no worker will ever be woken again and some have not stopped;
  /// PollsForEver; TimeLimit.
  void drive(const std::vector<env::Steppable*>& all) override;

  /// Runs `action` at `time_ns`, or now if that is past.
  void at(std::uint64_t time_ns, std::function<void()> action);
  static constexpr std::uint64_t kForever = ~std::uint64_t{0};
  /// The workers of the rank pause until then.
  void pause(int rank, std::uint64_t until_ns);
  /// Sets the memory that determines the time of memory traffic, before drive(); nullptr: it takes
  /// no time.
  void set_memory(Memory* memory) { memory_ = memory; }
  /// Time of the step that runs, or of what else happens: without the work of that step.
  [[nodiscard]] std::uint64_t agenda_ns() const { return now_ns_; }
  /// Sets the function that returns whether anything but polls has happened since its last call,
  /// before drive().
  void set_movement(std::function<bool()> has_moved) { has_moved_ = std::move(has_moved); }
  /// Once the step that runs has ended, drive() throws this.
  void fail(std::exception_ptr error) { failure_ = std::move(error); }
  /// The time of all work so far, in the models' time, by rank.
  [[nodiscard]] const std::vector<std::uint64_t>& work_ns() const { return work_ns_; }

  /// Work is not done, so there are no data worth copying.
  [[nodiscard]] bool is_dry() const { return options_.costs == CostKind::dry; }
  [[nodiscard]] Order& order() { return order_; }
  [[nodiscard]] Trace& trace() { return trace_; }
  [[nodiscard]] Log& log() { return log_; }
  [[nodiscard]] const Log& log() const { return log_; }

 private:
  static constexpr std::uint64_t kEntriesPerLook = 50'000;  // at least
  static constexpr std::uint64_t kEntriesOfActor = 16;      // completion detection asks all ranks
  static constexpr int kLooksMax = 8;
  struct Actor;
  class SimParker;
  /// Event at a time: a step of `actor`, or `action`.
  struct Entry {
    std::uint64_t time_ns;
    std::uint64_t tie;
    std::uint64_t number;   // of entries made before
    Actor* actor;           // or nullptr
    std::uint64_t version;  // of the actor; an older one is void
    std::size_t action;     // index in actions_, without actor
    bool operator>(const Entry& other) const;
  };

  [[nodiscard]] std::uint64_t spent_ns();
  void push(std::uint64_t time_ns, Actor* actor, std::size_t action);
  void step(Actor& actor);
  void go_on(Actor& actor);
  void use_memory(Actor& actor, std::uint64_t spent_ns, double bytes);
  void fall_asleep(Actor& actor);
  void wake(Actor& actor);
  void run_action(std::size_t index);
  void look_for_movement();

  const SimulatorOptions options_;
  const Shape shape_;
  Order order_;
  Trace trace_;
  Log log_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t charged_ns_ = 0;  // by the step that runs
  double charged_bytes_ = 0;      // likewise
  Memory* memory_ = nullptr;
  std::unique_ptr<env::Env> host_;              // the real clock, if costs are measured
  std::uint64_t step_begin_ns_ = 0;             // by that clock, if a step runs
  std::vector<std::uint64_t> work_ns_;          // by rank
  std::vector<std::uint64_t> paused_until_ns_;  // by rank
  std::exception_ptr failure_;
  std::uint64_t entries_ = 0;
  std::size_t live_ = 0;
  Actor* current_ = nullptr;
  std::vector<std::unique_ptr<Actor>> actors_;
  struct Agenda : std::priority_queue<Entry, std::vector<Entry>, std::greater<>> {
    [[nodiscard]] const std::vector<Entry>& all() const { return c; }
  };
  Agenda agenda_;
  // See look_for_movement().
  std::function<bool()> has_moved_;
  std::uint64_t entries_looked_at_ = 0;
  std::uint64_t moved_ns_ = 0;    // time of the last look that found movement
  std::uint64_t horizon_ns_ = 0;  // the last time on the agenda at the last look that counted
  int looks_ = 0;                 // that counted since, and found none
  std::vector<std::function<void()>> actions_;
  std::vector<std::size_t> free_actions_;
};

}  // namespace shoal::sim
