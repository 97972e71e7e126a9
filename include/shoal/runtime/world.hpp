#pragma once
// The world as one rank sees it: what the main function is given.

#include <shoal/am/active_message.hpp>
#include <shoal/am/immutable.hpp>
#include <shoal/am/large_message.hpp>
#include <shoal/base/check.hpp>
#include <shoal/coll/collectives.hpp>
#include <shoal/runtime/remote_promise.hpp>
#include <shoal/sched/async_task.hpp>
#include <shoal/sched/function_task.hpp>
#include <shoal/sched/future.hpp>
#include <shoal/term/scope.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal {

/// How the ranks of a world were started.
enum class Launch {
  embedded,   // all in this process
  mpi,        // in the processes of an MPI launch
  simulated,  // in virtual time, in one thread
};

/// What is chosen when a task is submitted.
struct TaskOptions {
  int priority = 0;                  // larger first
  std::optional<WorkerId> worker{};  // where it is queued at first; default: the caller's worker
  bool bound = false;                // only `worker` runs it
  std::string name = "task";         // for error reports
};

/// Counters of one rank since it started.
struct Stats {
  std::uint64_t tasks_run = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;  // messages as they travel, and payloads
};

using Hold = term::Hold;

class World;

namespace messaging {
template <>
inline constexpr bool is_handler_context_v<World> = true;
}  // namespace messaging

/// One per rank; lives as long as the main functions run. Where nothing else is said, any thread
/// may call, and calls do not block.
class World {
 public:
  struct Parts {
    term::Scope* scope = nullptr;
    coll::Collectives* collectives = nullptr;
    std::span<const std::string> args;
    Launch launch = Launch::embedded;
    bool dry = false;
  };

  explicit World(const Parts& parts) : parts_(parts) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Rank rank() const { return messenger().rank(); }
  [[nodiscard]] int size() const { return messenger().size(); }
  /// Of this rank; the same on all ranks unless they were started differently.
  [[nodiscard]] int worker_count() const { return scheduler().worker_count(); }
  /// The program's own arguments, without shoal's; [0] is the program's name.
  [[nodiscard]] std::span<const std::string> args() const { return parts_.args; }
  [[nodiscard]] Launch launch() const { return parts_.launch; }
  /// The world is simulated with --sim-dry: what is given to compute() is not done, and payloads of
  /// large messages do not arrive in their buffers. Programs need no memory for their data.
  [[nodiscard]] bool is_dry() const { return parts_.dry; }
  /// Monotonic time in nanoseconds; virtual in the simulator.
  [[nodiscard]] std::uint64_t now_ns() const { return scheduler().env().now_ns(); }
  [[nodiscard]] Stats stats() const;

  /// Returns on all ranks when no task and no message exists or can exist, anywhere.
  ///
  /// **Caller**: the main functions of all ranks, as often as they like. **Blocks**: suspends the
  /// main function; its worker goes on. **Errors**: the same on all ranks: TaskError when a task, a
  /// handler or a main function threw (the world then drops tasks and messages; what is left is to
  /// end); StuckError when nothing runs any more and something still waits, with the list; it may
  /// be caught and repaired, unless tasks were parked: they were ended, and the world has failed.
  /// **Ordering**: everything before it on any rank happens before its
  /// return.
  /// **Cost**: O(log size) messages in depth after the last rank became idle; none while nothing
  /// changes. **Source**: tasktorrent paper, section II-B3; docs/design/completion.md.
  void wait() { scope().wait(); }

  /// Runs `function` as a task of this rank.
  template <class F>
  void spawn(F function) {
    if constexpr (sched::check_task_function<F>()) {
      scheduler().submit(sched::make_function_task(scope(), std::move(function)));
    }
  }
  template <class F>
  void spawn(F function, const TaskOptions& options) {
    if constexpr (sched::check_task_function<F>()) {
      submit(sched::make_function_task(scope(), options.name, std::move(function)), options);
    }
  }

  /// The same, with the future of what it returns or throws: such an exception does not fail the
  /// world.
  template <class F>
  [[nodiscard]] auto async(F function) {
    if constexpr (sched::check_task_function<F>()) {
      auto task = std::make_unique<sched::AsyncTask<F>>(scheduler(), scope(), std::move(function));
      auto future = task->future();
      scheduler().submit(std::move(task));
      return future;
    }
  }
  // Two functions: GCC 12 destroys a default argument twice that stands in a co_await.
  template <class F>
  [[nodiscard]] auto async(F function, const TaskOptions& options) {
    if constexpr (sched::check_task_function<F>()) {
      auto task = std::make_unique<sched::NamedAsyncTask<F>>(scheduler(), scope(), options.name,
                                                             std::move(function));
      auto future = task->future();
      submit(std::move(task), options);
      return future;
    }
  }

  /// Keeps wait() from completing until the returned object is destroyed. For threads of the
  /// program that will still submit tasks or send messages.
  [[nodiscard]] Hold hold() { return Hold(scope()); }

  // --- active messages

  /// Runs the function named by `am<function>` on `target`; see ActiveMessage::send.
  template <auto Function, Delivery How, class... Args>
  void send(messaging::StaticAm<Function, How>, Rank target, Args&&... args) {
    using Static = messaging::StaticFunction<Function, How>;
    send_static(Static::handler, typename Static::Traits::Wires{}, target,
                std::forward<Args>(args)...);
  }
  /// The same with a lambda that captures nothing.
  template <messaging::CaptureLess Closure, class... Args>
  void send(Closure, Rank target, Args&&... args) {
    using Static = messaging::StaticClosure<Closure>;
    send_static(Static::handler, typename Static::Traits::Wires{}, target,
                std::forward<Args>(args)...);
  }

  /// Refuses everything else.
  template <class Handler, class... Args>
    requires(!messaging::CaptureLess<Handler> && !messaging::is_static_am_v<Handler>)
  void send(const Handler& /*handler*/, Rank /*target*/, const Args&... /*args*/) {
    static_assert(sizeof(Handler) == 0,
                  "shoal: send() takes am<function> or a lambda that captures nothing and has no "
                  "auto parameters: make_am() makes an active message of a lambda with captures");
  }

  /// Hands what this rank has sent so far to the transport. Not needed for progress, except before
  /// the main function blocks outside shoal (in a call of MPI, say) while other ranks wait for what
  /// it has sent. Lets the handlers of make_am() run, too.
  void flush() {
    messenger().open_instances();
    messenger().flush();
  }

  /// Makes an active message from a handler with captures. All ranks make theirs in the same order.
  /// Messages for it that arrive early wait. The handler of one that the main function made does
  /// not run before the main function next sends a message or calls wait(), a collective operation
  /// or flush(): what it refers to may be set up after it. **Errors**: a message that does not fit
  /// the handler's parameters ends the world with an error that names it.
  template <class F>
  [[nodiscard]] auto make_am(F function, const AmOptions& options = {}) {
    constexpr bool fits = messaging::PlainFunction<F>;
    static_assert(fits,
                  "shoal: make_am() takes a function or a function object with one operator(), "
                  "whose parameters are the arguments of the message: none of them auto");
    if constexpr (fits) {
      using Parameters = typename messaging::FunctionTraits<F>::Parameters;
      if constexpr (messaging::check_parameters(Parameters{})) {
        return ActiveMessageFor<F>(messenger(), std::move(function), options);
      } else {
        return messaging::RefusedMessage();
      }
    } else {
      return messaging::RefusedMessage();
    }
  }

  /// Makes a large active message with payload elements of type T; see LargeMessage for the three
  /// functions. The arguments are those of `buffer` behind its count, or those of `arrival` behind
  /// its data if these are more.
  template <class T, class Buffer, class Arrival, class Release>
  [[nodiscard]] auto make_large_am(Buffer buffer, Arrival arrival, Release release,
                                   const AmOptions& options = {}) {
    using Wires = typename messaging::LargeWires<Buffer, Arrival>::type;
    constexpr bool fits = messaging::check_large_functions<T, Buffer, Arrival, Release>(Wires{});
    if constexpr (fits) {
      return LargeMessageFor<T, Buffer, Arrival>(messenger(), std::move(buffer), std::move(arrival),
                                                 std::move(release), options);
    } else {
      return messaging::RefusedMessage();
    }
  }
  /// The same without a function for all of its releases: each send() may bring one, on_release().
  template <class T, class Buffer, class Arrival>
  [[nodiscard]] auto make_large_am(Buffer buffer, Arrival arrival, const AmOptions& options = {}) {
    return make_large_am<T>(
        std::move(buffer), std::move(arrival), [] {}, options);
  }

  // --- futures across ranks

  /// Lets other ranks fulfil the promise: the result travels in messages. It is fulfilled once, by
  /// fulfill() or fail() on any rank. Any thread.
  template <class T>
  [[nodiscard]] RemotePromise<T> publish(Promise<T> promise) {
    return {rank().value(), promises_.add(std::move(promise))};
  }
  /// Fulfils a promise of some rank; a message, as send(). **Errors**: the scope fails there when
  /// it was fulfilled already.
  template <class T, class Value>
  void fulfill(const RemotePromise<T>& promise, Value&& value) {
    send(am<&World::accept_value<T>>, Rank(promise.rank), promise.number,
         static_cast<T>(std::forward<Value>(value)));
  }
  void fulfill(const RemotePromise<void>& promise);
  /// Gives it a RemoteError with this text.
  template <class T>
  void fail(const RemotePromise<T>& promise, const std::string& text) {
    send(am<&World::accept_error>, Rank(promise.rank), promise.number, rank().value(), text);
  }

  /// Calls the function named by `am<function>` as a task on `target`, and brings back what it
  /// returns. It may take World& first, and may wait. The arguments are copied; the future gets
  /// RemoteError when the function throws, and the world does not fail.
  template <auto Function, Delivery How, class... Args>
  [[nodiscard]] auto call(Rank target, messaging::StaticAm<Function, How>, Args&&... args) {
    struct Named {
      static auto function() { return Function; }
    };
    return call_through<Named>(target, std::forward<Args>(args)...);
  }
  /// The same with a lambda that captures nothing.
  template <messaging::CaptureLess Closure, class... Args>
  [[nodiscard]] auto call(Rank target, Closure, Args&&... args) {
    struct Named {
      static Closure function() { return {}; }
    };
    return call_through<Named>(target, std::forward<Args>(args)...);
  }

  // --- collective operations: main functions of all ranks, in the same order. They suspend the
  // main function. Errors: as wait(); CheckError when ranks called different operations.

  /// Returns when all ranks have called it. Not a wait(): tasks and messages may still be under
  /// way.
  void barrier();
  /// The value of `root`, on every rank.
  template <class T>
  [[nodiscard]] T broadcast(const T& value, Rank root) {
    constexpr const char* kWhat = "broadcast()";
    return value_of<T>(kWhat, parts_.collectives->broadcast(kWhat, bytes_of(value), root));
  }
  /// operation(a, b) over the values of all ranks, on every rank, evaluated in the same order in
  /// every run with as many ranks.
  template <class T, class Operation>
  [[nodiscard]] T allreduce(const T& value, Operation operation) {
    constexpr const char* kWhat = "allreduce()";
    const auto combine = [&](const coll::Bytes& a, const coll::Bytes& b) {
      return bytes_of<T>(operation(value_of<T>(kWhat, a), value_of<T>(kWhat, b)));
    };
    return value_of<T>(kWhat, parts_.collectives->all_reduce(kWhat, bytes_of(value), combine));
  }
  /// The values of all ranks in rank order, on `root`; empty elsewhere.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& value, Rank root) {
    constexpr const char* kWhat = "gather()";
    return values_of<T>(kWhat, parts_.collectives->gather(kWhat, bytes_of(value), root));
  }
  /// The values of all ranks in rank order, on every rank.
  template <class T>
  [[nodiscard]] std::vector<T> allgather(const T& value) {
    constexpr const char* kWhat = "allgather()";
    return values_of<T>(kWhat, parts_.collectives->all_gather(kWhat, bytes_of(value)));
  }

  /// What task graphs are made on: TaskGraph<int> graph(world).
  [[nodiscard]] term::Scope& scope() const { return *parts_.scope; }
  operator term::Scope&() { return scope(); }  // NOLINT(google-explicit-constructor)
  /// What locks and promises are made on: Mutex mutex(world).
  operator sched::Scheduler&() { return scheduler(); }  // NOLINT(google-explicit-constructor)

 private:
  // Handlers of fulfill() and fail().
  template <class T>
  static void accept_value(World& world, std::uint64_t number, T value) {
    world.promises_.take<T>(number).set_value(std::move(value));
  }
  static void accept_void(World& world, std::uint64_t number);
  static void accept_error(World& world, std::uint64_t number, int rank, const std::string& text) {
    world.promises_.fail(number, std::make_exception_ptr(RemoteError(Rank(rank), text)));
  }

  template <class Named, class... Args>
  auto call_through(Rank target, Args&&... args) {
    using Traits = messaging::FunctionTraits<decltype(Named::function())>;
    return call_as<Named>(target, typename Traits::Wires{}, std::forward<Args>(args)...);
  }
  template <class Named, class... Ws, class... Args>
  auto call_as(Rank target, messaging::TypeList<Ws...>, Args&&... args) {
    static_assert(sizeof...(Ws) == sizeof...(Args),
                  "shoal: the number of arguments differs from the function's parameters");
    using Result = CallResult<Named, Ws...>;
    Promise<Result> promise(scheduler(), "a call");
    Future<Result> future = promise.future();
    const RemotePromise<Result> reply = publish(std::move(promise));
    send(am<&World::accept_call<Named, messaging::Storage<Ws>...>>, target, reply,
         messaging::Storage<Ws>(std::forward<Args>(args))...);
    return future;
  }
  template <class Named, class... Values>
  static decltype(auto) apply(World& world, Values&... values) {
    auto function = Named::function();
    if constexpr (messaging::FunctionTraits<decltype(function)>::has_context) {
      return function(world, std::move(values)...);
    } else {
      return function(std::move(values)...);
    }
  }
  template <class Named, class... Ws>
  using CallResult = decltype(apply<Named, messaging::Storage<Ws>...>(
      std::declval<World&>(), std::declval<messaging::Storage<Ws>&>()...));
  template <class Named, class... Values>
  static void accept_call(World& world, RemotePromise<CallResult<Named, Values...>> reply,
                          Values... values) {
    world.spawn(
        [&world, reply, values = std::tuple<Values...>(std::move(values)...)]() mutable {
          try {
            const auto run = [&](Values&... each) { return apply<Named>(world, each...); };
            if constexpr (std::is_void_v<CallResult<Named, Values...>>) {
              std::apply(run, values);
              world.fulfill(reply);
            } else {
              world.fulfill(reply, std::apply(run, values));
            }
          } catch (const CancelledError&) {
            throw;  // the world has failed, and the caller hears of that
          } catch (...) {
            world.fail(reply, describe(std::current_exception()));
          }
        },
        {.name = "a call"});
  }

  [[nodiscard]] messaging::Messenger& messenger() const { return scope().messenger(); }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scope().scheduler(); }
  void submit(std::unique_ptr<sched::Task> task, const TaskOptions& options);

  template <class Wires, class... Args>
  void send_static(const messaging::StaticHandler& handler, Wires wires, Rank target,
                   Args&&... args) {
    messaging::send_message(messenger(), {handler.index(), handler.signature(), target}, wires,
                            std::forward<Args>(args)...);
  }

  // A value travels with a hash of its type, behind it.
  template <class T>
  static coll::Bytes bytes_of(const T& value) {
    constexpr std::uint32_t signature = type_signature<T>();
    const std::size_t size = encoded_size<T>(value);
    coll::Bytes bytes(size + sizeof signature);
    encode<T>(std::span(bytes).first(size), value);
    std::memcpy(bytes.data() + size, &signature, sizeof signature);
    return bytes;
  }
  template <class T>
  static T value_of(const char* what, const coll::Bytes& bytes) {
    std::uint32_t signature = 0;
    SHOAL_CHECK(bytes.size() >= sizeof signature, "{}: a value is missing", what);
    const std::size_t size = bytes.size() - sizeof signature;
    std::memcpy(&signature, bytes.data() + size, sizeof signature);
    SHOAL_CHECK(signature == type_signature<T>(),
                "{}: the ranks gave values of different types: all must call it with the same",
                what);
    return std::get<0>(decode<T>(std::span(bytes).first(size)));
  }
  template <class T>
  static std::vector<T> values_of(const char* what, const std::vector<coll::Bytes>& all) {
    std::vector<T> values;
    values.reserve(all.size());
    for (const coll::Bytes& bytes : all) values.push_back(value_of<T>(what, bytes));
    return values;
  }

  const Parts parts_;
  runtime::PromiseTable promises_;
};

}  // namespace shoal
