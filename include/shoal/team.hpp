#pragma once
// A team of ranks as one of them sees it.

#include <shoal/collectives.hpp>
#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/async_task.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/detail/sched/function_task.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/detail/team/deprecated.hpp>
#include <shoal/future.hpp>
#include <shoal/immutable.hpp>
#include <shoal/large_message.hpp>
#include <shoal/machine.hpp>
#include <shoal/message.hpp>
#include <shoal/rank_set.hpp>
#include <shoal/remote_function.hpp>
#include <shoal/task_options.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// Counters of one rank since it started.
struct Statistics {
  std::uint64_t tasks_run = 0;          // tasks that have run
  std::uint64_t messages_sent = 0;      // active messages
  std::uint64_t messages_received = 0;  // active messages handled
  std::uint64_t bytes_sent = 0;         // messages as they travel, and payloads
};

/// Keeps the team from completion while it exists: see Team::hold().
using Hold = team::Hold;

class Team;
class World;

/// Identifies a team in messages, also to ranks that are no members: 16 bytes, whatever the size of
/// the team.
struct TeamHandle {
  std::uint64_t id = 0;    // unique in the world while the team exists; 0: the world
  std::int32_t first = 0;  // rank in the world of its rank 0
  std::int32_t size = 0;   // number of ranks
  bool operator==(const TeamHandle&) const = default;
};

namespace team {
template <>
struct ContextOf<World> {
  static World& get(const MessageContext& context);
};
template <>
struct ContextOf<Team> {
  static Team& get(const MessageContext& context);
};
}  // namespace team

/// Returns the World of the rank on which this member of the team runs.
[[nodiscard]] World& world_of(const Team& team);

/// An ordered subset of ranks with ranks of its own, 0 to size() - 1, its own completion, failures
/// and collective operations. The world is the first team (stapl-rts thesis, chapter 7).
///
/// Tasks, messages, graphs and events that are made on a team count there: wait() returns when that
/// team's work is done, while others go on. They count in the team's parent as well, which is not
/// done before. **Lifetime**: objects made on a team end before it.
///
/// Where nothing else is said, any thread may call, and calls do not block.
class Team : public TeamCollectives, private deprecated::TeamCalls<Team> {
  friend deprecated::TeamCalls<Team>;

 public:
  /// Makes a team of `ranks` of `parent`, which become ranks 0, 1, ... of the team in that order.
  /// Collective: all members of `parent` call it in the same order, from main functions or tasks,
  /// with the same ranks. Sends nothing. `name` is used in reports, and the same on all members:
  /// teams of different names do not exchange messages. **Errors**: CheckError for a rank that does
  /// not exist or is listed twice, and for an empty list.
  Team(Team& parent, const std::vector<Rank>& ranks, const std::string& name = "");
  /// Makes a team of `size` ranks of `parent` that two functions describe instead of a list, in
  /// memory that does not grow with the team. `to_parent(i)` is the rank in `parent` of the team's
  /// rank i, 0 <= i < size; `from_parent(r)` is its inverse, and negative for a rank that is no
  /// member. Collective: all members of `parent` call it in the same order.
  template <std::invocable<int> ToParent, std::invocable<int> FromParent>
  Team(Team& parent, int size, ToParent to_parent, FromParent from_parent,
       const std::string& name = "")
      : Team(parent,
             std::make_shared<team::FunctionRankMap<ToParent, FromParent>>(
                 parent.core().map(), size, std::move(to_parent), std::move(from_parent)),
             name) {}
  /// Ends the team. Collective over the members: returns when no task and no message of the team
  /// exists on any of them. A failure that wait() threw on no member fails the parent. **Caller**:
  /// as wait(). **Blocks**: parks the caller.
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Makes one team for each `colour`, of the members that gave it, ordered by `key`, then by their
  /// ranks in this team. A negative colour makes no team: the caller gets one of which it is no
  /// member. Collective: all members call it, as the constructor. **Blocks**: parks the caller.
  /// **Cost**: one allgather.
  [[nodiscard]] Team split(int colour, int key = 0, const std::string& name = "");

  /// Returns whether the caller's rank is a member of the team. A rank that is none may only call
  /// is_member(), rank() and size().
  [[nodiscard]] bool is_member() const { return core_ != nullptr; }
  /// Rank of the caller in the team; -1 if it is no member.
  [[nodiscard]] Rank rank() const { return is_member() ? core().rank() : rank_elsewhere(); }
  /// Number of ranks of the team.
  [[nodiscard]] int size() const { return size_; }
  /// Rank in the world of a rank of the team. **Errors**: CheckError for a rank that does not
  /// exist.
  [[nodiscard]] Rank world_rank(Rank member) const { return core().to_world(member); }
  /// Rank in the team of a rank of the world; -1 for one that is no member.
  [[nodiscard]] Rank rank_of(Rank world_rank) const { return core().from_world(world_rank); }
  /// Returns shared ownership of a team that launch_team() has made: the team does not end on any
  /// member before the last owner on this one is destroyed. Objects on a team use it to keep the
  /// team alive after its section has ended. The parent's end waits for the team; the end of the
  /// world throws StuckError if nothing is left that could drop the last owner. For other teams,
  /// which last as long as their object, the pointer owns nothing. **Caller**: a task or handler of
  /// the team. Any thread may drop it.
  [[nodiscard]] std::shared_ptr<Team> share(
      const std::source_location& place = std::source_location::current());
  /// Returns the handle that identifies the team in messages; members find their Team by it with
  /// World::find(). **Caller**: members only.
  [[nodiscard]] TeamHandle handle() const;
  /// Returns the ranks of this team that share a part of the machine (a node, say) with rank
  /// `with`, as a set for launch_team(). **Cost**: linear in the size of the team; sends nothing.
  [[nodiscard]] RankSet ranks_sharing(MachineLevel level, Rank with) const;
  /// Returns the ranks of this team that share a part of the machine (a node, say) with the caller.
  [[nodiscard]] RankSet ranks_sharing(MachineLevel level) const {
    return ranks_sharing(level, rank());
  }
  /// The first rank of this team in each part of the machine, by rank.
  [[nodiscard]] RankSet first_ranks(MachineLevel level) const;
  /// Number of workers of this rank; the same on all ranks unless they were started differently.
  [[nodiscard]] int worker_count() const { return scheduler().worker_count(); }
  /// Monotonic time in nanoseconds; virtual in the simulator.
  [[nodiscard]] std::uint64_t now_ns() const { return scheduler().env().now_ns(); }

  /// Returns on all members when no task and no message of the team exists or can exist, anywhere.
  ///
  /// **Caller**: of the world, the main functions of all ranks, as often as they like; of another
  /// team, a main function or a task on each member, one at a time. **Blocks**: suspends the
  /// main function; its worker goes on. **Errors**: the same on all ranks: TaskError when a task, a
  /// handler or a main function threw (the world then drops tasks and messages; what is left is to
  /// end); StuckError when nothing runs any more and something still waits, with the list; it may
  /// be caught and repaired, unless tasks were parked: they were ended, and the world has failed.
  /// **Ordering**: everything before it on any rank happens before its
  /// return.
  /// **Cost**: O(log size) messages in depth after the last rank became idle; none while nothing
  /// changes. **Source**: tasktorrent paper, section II-B3; docs/design/completion.md.
  void wait() { core().wait(); }

  /// Cancels the work of the team, on all its members and in the teams nested in it: tasks that
  /// have not begun are dropped, those that wait get a CancelledError, messages that arrive later
  /// are discarded, and wait() throws a TaskError with is_cancellation() and this reason. Tasks
  /// that run go on: long ones look at is_cancelled(). Work outside the team is not disturbed;
  /// graphs, flows and the like that are to be cancelled alone get a team of their own. Does
  /// nothing after a failure or another cancellation. See Deadline. **Caller**: any thread, on any
  /// member.
  /// **Blocks**: never.
  void cancel(const std::string& reason = "no reason was given");
  /// Returns whether the work of the team is dropped on this rank, because the team was cancelled
  /// or has failed. **Caller**: any thread. **Cost**: one load.
  [[nodiscard]] bool is_cancelled() const { return core().failed(); }

  /// Runs `function` as a task of this rank. **Blocks**: never. **Errors**: an exception of the
  /// task fails the team.
  template <class F>
  void spawn(F function) {
    if constexpr (sched::check_task_function<F>()) {
      TeamCore& here = core();
      here.scheduler().submit(sched::make_function_task(here, std::move(function)));
    }
  }
  /// Runs `function` as a task of this rank with a priority, a worker, a name or retries.
  /// **Blocks**: never. **Errors**: an exception of the task, or a RetryError of its last attempt,
  /// fails the team; CheckError for a worker that does not exist, for a bound task without one, and
  /// for a function that cannot be tried again.
  template <class F>
  void spawn(F function, const TaskOptions& options) {
    if constexpr (sched::check_task_function<F>()) {
      if (options.retries == 0) {
        submit(sched::make_function_task(core(), options.name, std::move(function)), options);
      } else {
        submit(sched::make_function_task(
                   core(), options.name,
                   sched::Retried<F>(std::move(function), options.retries, options.name)),
               options);
      }
    }
  }

  /// Runs `function` as a task of this rank; returns the future of its result, and does not block.
  /// An exception of the task goes to the future, and fails the team only if nobody takes it from
  /// there.
  template <class F>
  [[nodiscard]] auto async(F function) {
    if constexpr (sched::check_task_function<F>()) {
      TeamCore& here = core();
      auto* const task = new sched::AsyncTask<F>(here.scheduler(), here, std::move(function));
      std::unique_ptr<sched::Task> owner(task);
      auto future = task->future();
      here.scheduler().submit(std::move(owner));
      return future;
    }
  }
  /// Runs `function` as a task of this rank with a priority, a worker, a name or retries; returns
  /// the future of its result or exception (a RetryError of its last attempt), and does not block.
  /// (A function of its own, because GCC 12 destroys a default argument inside a co_await twice.)
  template <class F>
  [[nodiscard]] auto async(F function, const TaskOptions& options) {
    if constexpr (sched::check_task_function<F>()) {
      if (options.retries != 0) {
        return submit_async(sched::Retried<F>(std::move(function), options.retries, options.name),
                            options);
      }
      return submit_async(std::move(function), options);
    }
  }

  /// Returns an object that keeps wait() from completing until it is destroyed: for threads of the
  /// program that will still submit tasks or send messages. A main function moves it to the thread,
  /// or ends it before it waits: else wait() never returns, and the stall report names `place`.
  /// **Errors**: CheckError on such a thread in a simulated world.
  [[nodiscard]] Hold hold(const std::source_location& place = std::source_location::current()) {
    sched::check_thread(scheduler(), "hold()");
    return Hold(core(), place);
  }

  // --- active messages

  using deprecated::TeamCalls<Team>::send;
  using deprecated::TeamCalls<Team>::send_urgent;
  using deprecated::TeamCalls<Team>::multicast;

  /// Sends a message that runs the function named by `am<function>` on `target`, with copies of the
  /// arguments. **Caller**, **Blocks**, **Errors**, **Ordering**: as ActiveMessage::send().
  template <auto Function, Delivery How, class... Args>
  void send(Rank target, team::StaticAm<Function, How>, Args&&... args) {
    team::send_static<team::StaticFunction<Function, How>>(core(), target,
                                                           std::forward<Args>(args)...);
  }
  /// Sends a message that runs a lambda without captures on `target`, with copies of the arguments.
  /// **Caller**, **Blocks**, **Errors**, **Ordering**: as ActiveMessage::send().
  template <team::CaptureLess Closure, class... Args>
  void send(Rank target, Closure, Args&&... args) {
    team::send_static<team::StaticClosure<Closure>>(core(), target, std::forward<Args>(args)...);
  }

  /// Sends an urgent message that runs the function named by `am<function>` on `target`: it
  /// overtakes messages sent there by send(). See ActiveMessage::send_urgent().
  template <auto Function, Delivery How, class... Args>
  void send_urgent(Rank target, team::StaticAm<Function, How>, Args&&... args) {
    team::send_static<team::StaticFunction<Function, How>, net::Lane::urgent>(
        core(), target, std::forward<Args>(args)...);
  }

  /// Runs the function named by `am<function>` once on each recipient: a list or set of ranks of
  /// this team, which may contain the caller's. The message travels along a tree that it carries
  /// with it: recipients need not know of each other.
  ///
  /// The first recipients of the list, or those with the largest priorities, are nearest to the
  /// sender. **Caller**, **Blocks**: as send(); recipients forward the message without waiting,
  /// before their own handler runs. **Errors**: CheckError, and nothing is sent, for a rank that
  /// does not exist or is listed twice; an empty list is no error. **Ordering**: multicasts of one
  /// rank to the same recipients, in the same order and tree, are handled in the order sent; those
  /// with large payloads are ordered among themselves only, and so are those with arguments on the
  /// heap. There is no order with send(), nor with other multicasts. **Cost**: one encoding; each
  /// recipient sends its part of the list, and the arguments, to its children. Within a process
  /// each recipient copies the arguments once; an Immutable is shared. **Source**:
  /// runtime-communication-interactions-thesis, section 4.3.
  template <auto Function, Delivery How, class... Args>
  void multicast(const Recipients& recipients, team::StaticAm<Function, How>, Args&&... args) {
    team::multicast_static<team::StaticFunction<Function, How>>(core(), recipients,
                                                                std::forward<Args>(args)...);
  }
  /// Runs a lambda without captures once on each recipient. **Caller**, **Blocks**, **Errors**,
  /// **Ordering**: as multicast() of a function.
  template <team::CaptureLess Closure, class... Args>
  void multicast(const Recipients& recipients, Closure, Args&&... args) {
    team::multicast_static<team::StaticClosure<Closure>>(core(), recipients,
                                                         std::forward<Args>(args)...);
  }
  /// Runs the handler of `message`, made by make_am(), once on each recipient. **Caller**,
  /// **Blocks**, **Errors**, **Ordering**: as multicast() of a function.
  template <class... Wires, class... Args>
  void multicast(const Recipients& recipients, const ActiveMessage<Wires...>& message,
                 Args&&... args) {
    message.multicast(recipients, std::forward<Args>(args)...);
  }
  /// Sends a large message, made by make_large_am(), to each recipient: the elements of `payload`,
  /// and the arguments of its functions. **Caller**, **Blocks**, **Errors**, **Ordering**: as
  /// multicast() of a function.
  template <class T, class... Wires, class... Args>
  void multicast(const Recipients& recipients, const LargeMessage<T, Wires...>& message,
                 std::span<const std::type_identity_t<T>> payload, Args&&... args) {
    message.multicast(recipients, payload, std::forward<Args>(args)...);
  }

  /// Sends a message that runs the function named by `am<function>` on rank `member` of another
  /// team. If the caller's rank is no member of it, the message goes through the team's first
  /// member. If a task or handler of this team sends it, this team's wait() also waits until the
  /// message was handled. **Caller**, **Blocks**: as ActiveMessage::send(). **Errors**: the world
  /// fails if the team has ended.
  template <auto Function, Delivery How, class... Args>
  void send(const TeamHandle& team, Rank member, team::StaticAm<Function, How>, Args&&... args) {
    using Traits = team::FunctionTraits<decltype(Function)>;
    send_through<Function, How>(team, member, typename Traits::Wires{},
                                std::forward<Args>(args)...);
  }

  /// Rejects other kinds of handlers at compile time.
  template <class Handler, class... Args>
    requires(!team::CaptureLess<Handler> && !team::is_static_am_v<Handler>)
  void send(Rank /*target*/, const Handler& /*handler*/, const Args&... /*args*/) {
    static_assert(sizeof(Handler) == 0,
                  "shoal: send() takes am<function> or a lambda that captures nothing and has no "
                  "auto parameters: make_am() makes an active message of a lambda with captures");
  }

  /// Hands the messages that this rank has sent so far to the transport. Progress does not need it,
  /// except before the main function blocks outside shoal (in a call of MPI, say) while other ranks
  /// wait for these messages. It also lets the handlers of make_am() run.
  void flush() {
    core().open_handlers();
    core().flush();
  }

  /// Makes an active message from a handler with captures. All ranks make theirs in the same order;
  /// a message that arrives before its handler was made waits for it. If the main function makes
  /// it, the handler does not run before the main function next sends a message or calls wait(), a
  /// collective operation or flush(): so it may set up the objects that the handler refers to after
  /// this call. **Errors**: a message that was sent for another handler fails the team with an
  /// error that names both, see ActiveMessage. `place` identifies the handler; a function that
  /// makes handlers for its callers passes their place.
  template <class F>
  [[nodiscard]] auto make_am(F function, const AmOptions& options = {},
                             const std::source_location& place = std::source_location::current()) {
    constexpr bool fits = PlainFunction<F>;
    static_assert(fits,
                  "shoal: make_am() takes a function or a function object with one operator(), "
                  "whose parameters are the arguments of the message: none of them auto");
    if constexpr (fits) {
      using Parameters = typename team::FunctionTraits<F>::Parameters;
      if constexpr (team::check_parameters(Parameters{})) {
        return ActiveMessageFor<F>(core(), std::move(function), options, place);
      } else {
        return team::RefusedMessage();
      }
    } else {
      return team::RefusedMessage();
    }
  }

  /// Makes a large active message with payload elements of type T, from the three functions that
  /// LargeMessage describes; `arrival` may be read_only(). The arguments of the message are those
  /// of `buffer` after its count, or those of `arrival` after its data if these are more.
  template <class T, class Buffer, class Arrival, class Release>
  [[nodiscard]] auto make_large_am(
      Buffer buffer, Arrival arrival, Release release, const AmOptions& options = {},
      const std::source_location& place = std::source_location::current()) {
    using Wires = typename team::LargeWires<Buffer, Arrival>::type;
    constexpr bool fits = team::check_large_functions<T, Buffer, Arrival, Release>(Wires{});
    if constexpr (fits) {
      return LargeMessageFor<T, Buffer, Arrival>(core(), std::move(buffer), std::move(arrival),
                                                 std::move(release), options, place);
    } else {
      return team::RefusedMessage();
    }
  }
  /// Makes a large active message without a release function for all payloads: each send() may have
  /// its own, given by on_release(). `buffer` and `arrival` are those that LargeMessage describes.
  template <class T, class Buffer, class Arrival>
  [[nodiscard]] auto make_large_am(
      Buffer buffer, Arrival arrival, const AmOptions& options = {},
      const std::source_location& place = std::source_location::current()) {
    return make_large_am<T>(
        std::move(buffer), std::move(arrival), [] {}, options, place);
  }

  // --- futures across ranks

  /// Publishes the promise: other ranks can fulfil it, by messages. It is fulfilled once, by
  /// fulfill() or fail() on any rank; if this team fails first, and is not the world, it gets a
  /// TaskError. **Caller**: any thread.
  template <class T>
  [[nodiscard]] RemotePromise<T> publish(Promise<T> promise) {
    return team::publish(core(), std::move(promise));
  }
  /// Fulfils a published promise of any rank with a value, by a message. **Caller**, **Blocks**: as
  /// ActiveMessage::send(). **Errors**: the team fails on the promise's rank when it was fulfilled
  /// already.
  template <class T, class Value>
  void fulfill(const RemotePromise<T>& promise, Value&& value) {
    team::fulfill(core(), promise, std::forward<Value>(value));
  }
  /// Fulfils a published promise of type void of any rank, by a message. **Caller**, **Blocks**: as
  /// ActiveMessage::send(). **Errors**: the team fails on the promise's rank when it was fulfilled
  /// already.
  void fulfill(const RemotePromise<void>& promise) { team::fulfill(core(), promise); }
  /// Fails a published promise of any rank, by a message: its future throws a RemoteError with this
  /// text. **Caller**, **Blocks**, **Errors**: as fulfill().
  template <class T>
  void fail(const RemotePromise<T>& promise, const std::string& text) {
    team::fail(core(), promise, "", text);
  }

  /// Runs the function named by `am<function>` as a task on `target`; returns the future of its
  /// result. The function may take Team&, World& or MessageContext first, and may wait. The
  /// arguments are copied. **Caller**, **Blocks**, **Errors**: as ActiveMessage::send(); an
  /// exception of the function goes to the future as a RemoteError, and does not fail the team.
  template <auto Function, Delivery How, class... Args>
  [[nodiscard]] auto call(Rank target, team::StaticAm<Function, How>, Args&&... args) {
    return team::call<team::NamedFunction<Function>>(core(), target, std::forward<Args>(args)...);
  }
  /// Runs a lambda without captures as a task on `target`; returns the future of its result.
  /// **Caller**, **Blocks**, **Errors**: as call() of a function.
  template <team::CaptureLess Closure, class... Args>
  [[nodiscard]] auto call(Rank target, Closure, Args&&... args) {
    return team::call<team::NamedClosure<Closure>>(core(), target, std::forward<Args>(args)...);
  }
  /// Runs `function`, made by make_function(), on `target`; returns the future of its result.
  /// **Caller**, **Blocks**, **Errors**: as call() of a function named by `am`.
  template <class Result, class... Wires, class... Args>
  [[nodiscard]] Future<Result> call(Rank target, const RemoteFunction<Result, Wires...>& function,
                                    Args&&... args) {
    return function.call(target, std::forward<Args>(args)...);
  }
  /// Makes a function with captures that other ranks call and that returns a result. All ranks make
  /// theirs in the same order, as with make_am(). It runs as a task; if `options` say that it runs
  /// in the handler, it must not wait.
  template <class F>
  [[nodiscard]] auto make_function(
      F function, const AmOptions& options = {Delivery::task},
      const std::source_location& place = std::source_location::current()) {
    static_assert(PlainFunction<F>,
                  "shoal: make_function() takes a function or a function object with one "
                  "operator(), whose parameters are the arguments of the call: none of them auto");
    return RemoteFunctionFor<F>(core(), std::move(function), options, place);
  }

  // --- teams made by one rank

  /// Makes a team of `ranks` of this one, and runs the function named by `am<function>` as a task
  /// on each member, with Team& (the new one) or World& first if it takes that. The team ends when
  /// these tasks, all others of the team, and its messages have ended. Called by one rank, which
  /// need not be a member. **Blocks**: as multicast().
  /// **Future**: ready when the team has ended; it gets a RemoteError if anything of the team has
  /// thrown, while this team goes on, and a TaskError if this team fails first and is not the
  /// world. **Errors**: CheckError for ranks that do not exist. **Cost**: log2(members) messages in
  /// depth; messages for the team that arrive before it exists wait. **Source**: stapl-rts thesis,
  /// section 7.4.
  template <auto Function, Delivery How, class... Args>
  [[nodiscard]] Future<void> launch_team(const RankSet& ranks, team::StaticAm<Function, How>,
                                         Args&&... args) {
    return launch_through<team::NamedFunction<Function>>(ranks, std::forward<Args>(args)...);
  }
  /// Makes a team of `ranks` of this one, and runs a lambda without captures as a task on each
  /// member; returns the future of the team's end. See launch_team() of a function.
  template <team::CaptureLess Closure, class... Args>
  [[nodiscard]] Future<void> launch_team(const RankSet& ranks, Closure, Args&&... args) {
    return launch_through<team::NamedClosure<Closure>>(ranks, std::forward<Args>(args)...);
  }
  /// @cond internals
  /// Makes a team of `ranks` for a distributed object that reports call `object`, and runs the
  /// function named by `am<function>` as a task on each member. There is no future: a failure of
  /// that team fails this one at once. See launch_team().
  template <auto Function, Delivery How, class... Args>
  void launch_team_of(const std::string& object, const RankSet& ranks,
                      team::StaticAm<Function, How>, Args&&... args) {
    using Traits = team::FunctionTraits<decltype(Function)>;
    launch_as<team::NamedFunction<Function>>(invite(ranks, object), typename Traits::Wires{},
                                             std::forward<Args>(args)...);
  }
  /// Returns the core of the team on this rank: not for programs. **Errors**: CheckError for a rank
  /// that is no member.
  [[nodiscard]] TeamCore& core() const {
    if (core_ == nullptr) [[unlikely]]
      refuse_use();
    return *core_;
  }
  /// Returns the scheduler of the rank, on which locks and promises are made: not for programs.
  /// **Errors**: as core().
  [[nodiscard]] sched::Scheduler& scheduler() const { return core().scheduler(); }
  /// @endcond

 protected:
  /// The outermost team.
  Team(TeamCore& core, team::Collectives& collectives);
  /// Marks the end of the run: later calls are refused. Not for programs.
  void end_run();
  /// Returns the team on this rank; nullptr if this rank is no member.
  [[nodiscard]] Team* find_member(const TeamHandle& team) const;

 private:
  /// Message that makes a team on its members: see launch_team().
  struct Invitation {
    std::uint64_t id = 0;
    RankSet ranks;
    std::string name;
    RemotePromise<void> ended;  // of no rank: nobody waits, and a failure fails the parent
    std::string object{};       // the team is that of this object; empty: of launch_team()

    [[nodiscard]] bool is_awaited() const { return ended.rank >= 0; }
    template <class Archive>
    void serialize(Archive& archive) {
      archive(id, ranks, name, ended, object);
    }
  };
  /// Launch of a team that launch_team() has made, on one member.
  struct Launched;
  class EndTask;

  Team(Team& parent, const team::SharedRankMap& members, const std::string& name);
  Team(const Invitation& invitation, Team& parent);
  /// Enters the team as a member: makes its tables, under an id that all members know.
  void enter(Team& parent, std::uint64_t id, std::uint64_t number,
             const team::SharedRankMap& members, const std::string& name,
             team::FailureTo failure = team::FailureTo::waiters);
  /// Makes the team of the invitation. When the last owner on this member is gone, the team ends in
  /// a task of the parent.
  [[nodiscard]] static std::shared_ptr<Team> make_launched(Team& parent,
                                                           const Invitation& invitation);
  static void end_later(std::unique_ptr<Team> team);
  void end_launched();
  /// A line of a report on a launched team that has not ended: its name, and how it ends.
  [[nodiscard]] std::string describe_not_ended() const;
  /// Destroys the parts that refer to the core, which ends before this object.
  void drop_parts() noexcept;
  void release() noexcept;
  friend class TeamCollectives;
  friend class TeamCore;
  friend class team::Sources;
  /// `how`: "in a collective operation ", or nothing.
  [[noreturn]] void refuse_use(const char* how = "") const;
  /// Returns the rank of a caller that is no member, -1. **Errors**: CheckError after the end of
  /// the run.
  [[nodiscard]] Rank rank_elsewhere() const;
  /// Returns the members of `parent` that gave this colour.
  static team::SharedRankMap select(Team& parent, int colour, int key);

  /// Message on its way to a team that its sender is no member of.
  struct Relay {
    TeamHandle team;
    int member = 0;
    int origin = 0;            // rank in the world of the sender
    std::uint64_t sender = 0;  // team that waits; 0: none
  };
  template <auto Function, Delivery How, class... Ws, class... Args>
  void send_through(const TeamHandle& team, Rank member, TypeList<Ws...>, Args&&... args);
  template <auto Function, Delivery How, class... Values>
  static void pass_on(const Relay& relay, Values... values) {
    const team::TeamInUse team(relay.team.id);
    team::send_static<team::StaticFunction<&Team::deliver<Function, Values...>, How>>(
        member_of(team, relay), Rank(relay.member), relay, std::move(values)...);
  }
  template <auto Function, class... Values>
  static void deliver(Team& team, const Relay& relay, Values... values) {
    const Handled handled(team, relay);
    auto function = Function;
    team::invoke_in(function, MessageContext(team.core(), Rank(relay.origin)),
                    std::move(values)...);
  }
  /// Sends the acknowledgement when it is destroyed, however the handler ends.
  class Handled {
   public:
    Handled(const Team& team, const Relay& relay) : team_(team), relay_(relay) {}
    ~Handled();
    Handled(const Handled&) = delete;
    Handled& operator=(const Handled&) = delete;

   private:
    const Team& team_;
    const Relay& relay_;
  };
  static TeamCore& member_of(const team::TeamInUse& team, const Relay& relay);
  [[nodiscard]] static Relay relay_to(const TeamHandle& team, Rank member, Rank origin);
  [[nodiscard]] Team& outermost() const;

  template <class Named, class... Args>
  Future<void> launch_through(const RankSet& ranks, Args&&... args) {
    using Traits = team::FunctionTraits<decltype(Named::function())>;
    Promise<void> promise(scheduler(), "the end of a team");
    Future<void> future = promise.future();
    Invitation invitation = invite(ranks, {});
    invitation.ended = publish(std::move(promise));
    launch_as<Named>(invitation, typename Traits::Wires{}, std::forward<Args>(args)...);
    return future;
  }
  template <class Named, class... Ws, class... Args>
  void launch_as(const Invitation& invitation, TypeList<Ws...>, Args&&... args) {
    static_assert(sizeof...(Ws) == sizeof...(Args),
                  "shoal: the number of arguments differs from the function's parameters");
    (team::check_fraction<Args, Ws>(), ...);
    multicast(Recipients(invitation.ranks),
              am<&Team::accept_invitation<Named, team::Storage<Ws>...>>, invitation,
              wire::own<team::Storage<Ws>>(std::forward<Args>(args))...);
  }
  /// Makes an invitation to a team that nobody waits for.
  [[nodiscard]] Invitation invite(const RankSet& ranks, const std::string& object);
  template <class Named, class... Values>
  static void accept_invitation(Team& parent, const Invitation& invitation, Values... values);

  [[nodiscard]] team::Messenger& messenger() const { return core().messenger(); }
  void submit(std::unique_ptr<sched::Task> task, const TaskOptions& options);
  template <class F>
  [[nodiscard]] auto submit_async(F function, const TaskOptions& options) {
    auto* const task = new sched::Named<sched::AsyncTask<F>>(options.name, scheduler(), core(),
                                                             options.name, std::move(function));
    std::unique_ptr<sched::Task> owner(task);
    auto future = task->future();
    submit(std::move(owner), options);
    return future;
  }

  /// A team on a rank that is no member, for errors.
  struct Elsewhere {
    std::string team;
    Rank rank;  // in the world
  };

  TeamCore* core_ = nullptr;                    // nullptr: no member, or after the run
  std::unique_ptr<const Elsewhere> elsewhere_;  // nullptr: a member
  bool run_has_ended_ = false;  // of the outermost one; written when the workers have stopped
  int size_ = 0;
  std::unique_ptr<team::Collectives> own_collectives_;  // not of the world
  std::unique_ptr<Launched> launched_;                  // nullptr: launch_team() has not made it
};

template <auto Function, Delivery How, class... Ws, class... Args>
void Team::send_through(const TeamHandle& team, Rank member, TypeList<Ws...>, Args&&... args) {
  static_assert(sizeof...(Ws) == sizeof...(Args),
                "shoal: the number of arguments differs from the function's parameters");
  (team::check_fraction<Args, Ws>(), ...);
  if (Team* const here = find_member(team); here != nullptr) {
    return here->send(member, am<Function, How>, std::forward<Args>(args)...);
  }
  const Relay relay = relay_to(team, member, world_rank(rank()));
  outermost().send(Rank(team.first), am<&Team::pass_on<Function, How, team::Storage<Ws>...>>, relay,
                   wire::own<team::Storage<Ws>>(std::forward<Args>(args))...);
}

template <class Named, class... Values>
void Team::accept_invitation(Team& parent, const Invitation& invitation, Values... values) {
  std::shared_ptr<Team> team = make_launched(parent, invitation);
  auto section = [team, values = std::tuple<Values...>(std::move(values)...)]() mutable {
    auto function = Named::function();
    const MessageContext context(team->core(), team->world_rank(team->rank()));
    std::apply([&](Values&... each) { team::invoke_in(function, context, std::move(each)...); },
               values);
  };
  team->spawn(std::move(section), {.name = "the section of team " + invitation.name});
}

}  // namespace shoal
