#pragma once
// Operations of handles and distributed objects.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/object/receive.hpp>
#include <shoal/futures.hpp>

#include <utility>
#include <vector>

namespace shoal {

/// All ranks of the object's team.
struct AllRanks {};
/// Target of invocations: every member of the team.
inline constexpr AllRanks all_ranks{};

namespace object {

/// Returns the table of the object's team. **Errors**: CheckError when the caller's rank is no
/// member.
[[nodiscard]] Objects& sender_of(const Place& place);
/// Throws CheckError for the use of an empty handle.
[[noreturn]] void refuse_empty_handle();
/// Team of the promises for results.
[[nodiscard]] TeamCore& reply_core(const Place& place);
/// Waits for the end of all work of the object's team, as Invoker::fence() does.
void fence(Objects& objects);
/// Ends a tunnel on `to`.
void close_tunnel(Objects& objects, Rank to, std::uint64_t context);

}  // namespace object

/// Operations of a distributed object, by its handle or on a representative. `Self` has
/// place_of_object(). In each operation, `Function` is a method of the object's class, of a base of
/// it or of a class derived from it, or a function or lambda that takes the object first; its
/// parameters take copies of the arguments, and references and pointers to distributed objects
/// become those of the receiver. A moved argument is moved, not copied, within a process.
///
/// Where nothing else is said: **Caller**: any task, handler or main function, also on a rank
/// outside the object's team; threads outside the workers, by a representative. Operations that
/// return a Future or nothing block only as ActiveMessage::send() does. If a task or handler of
/// another team invokes a method, that team's wait() also waits until the invocation has run.
/// **Ordering**: invocations of one task, or of one context, on one rank run in the order in which
/// they were invoked, whatever the object; each after everything that its caller did before it
/// (docs/design/objects.md). On one rank, one invocation runs at a time, whatever its team; while
/// it waits, others may run. **Errors**: an exception of the method fails the team, unless a future
/// gets it as a RemoteError; so does an object that was destroyed on the target. An invocation
/// waits on the target until the object is made there, and until the target has reached the latest
/// of three epochs: the caller's, the object's, and those of objects among the arguments.
template <class Self, class Root>
class Invoker {
 public:
  /// Invokes `Function` on the representative of `target`, and ignores its result.
  template <auto Function, class... Args>
  void async(Rank target, Args&&... args) const {
    send<Function, object::Kind::plain>(target, std::forward<Args>(args)...);
  }
  /// Invokes `Function` on the representatives of all ranks of the team, and ignores their results.
  /// **Cost**: one message for each rank.
  template <auto Function, class... Args>
  void async(AllRanks /*all*/, const Args&... args) const {
    send_to_all<Function, object::Kind::plain>(args...);
  }
  /// Invokes `Function` on the representative of `target`, and ignores its result; if the object
  /// was destroyed there, or its team has ended or just ends, does nothing, where async() fails.
  template <auto Function, class... Args>
  void try_async(Rank target, Args&&... args) const {
    const team::TeamInUse use(place().address.team);
    send<Function, object::Kind::attempt>(target, std::forward<Args>(args)...);
  }
  /// Invokes `Function` on all ranks of the team where the object was not destroyed, and ignores
  /// the results. **Cost**: one message for each rank. See try_async() of one rank.
  template <auto Function, class... Args>
  void try_async(AllRanks /*all*/, const Args&... args) const {
    const team::TeamInUse use(place().address.team);
    send_to_all<Function, object::Kind::attempt>(args...);
  }
  /// Invokes `Function` on the representative of `target`; returns the future of its result.
  template <auto Function, class... Args>
  [[nodiscard]] auto call(Rank target, Args&&... args) const {
    return call_at<Function>(place(), target, std::forward<Args>(args)...);
  }
  /// Invokes `Function` on the representative of `target`, waits for its result and returns it.
  /// **Blocks**: parks the caller; its worker goes on.
  template <auto Function, class... Args>
  auto sync(Rank target, Args&&... args) const {
    sched::check_may_wait("sync() of an object");
    return call<Function>(target, std::forward<Args>(args)...).get();
  }

  // --- one-sided collectives: called by one rank, run on all

  /// Invokes `Function` on all ranks; returns the futures of its results.
  template <auto Function, class... Args>
  [[nodiscard]] auto call(AllRanks /*all*/, const Args&... args) const {
    using Result = typename object::Method<Function, Root>::Result;
    const object::Place place = this->place();
    std::vector<Future<Result>> each;
    const int size = place.address.size;
    for (int rank = 0; rank < size; ++rank) {
      each.push_back(call_at<Function>(place, Rank(rank), args...));
    }
    return Futures<Result>(std::move(each));
  }
  /// Invokes `Function` on all ranks and waits; returns a vector of its results in the order of
  /// ranks, or nothing if it returns void. **Blocks**: parks the caller; its worker goes on.
  template <auto Function, class... Args>
  auto sync(AllRanks /*all*/, const Args&... args) const {
    sched::check_may_wait("sync() of an object");
    return call<Function>(all_ranks, args...).get();
  }
  /// @cond deprecated
  template <auto Function, class... Args>
  [[deprecated("its name is call(), with all_ranks as its target")]] [[nodiscard]] auto call_all(
      const Args&... args) const {
    return call<Function>(all_ranks, args...);
  }
  /// @endcond
  /// Invokes `Function` on all ranks; returns the future of its results, combined with operation(a,
  /// b) in the order of ranks.
  template <auto Function, class Operation, class... Args>
  [[nodiscard]] auto reduce(Operation operation, const Args&... args) const {
    using Result = typename object::Method<Function, Root>::Result;
    team::check_operation<Result, Operation>();
    return call<Function>(all_ranks, args...)
        .then(
            [operation = std::move(operation)](std::vector<Result> values) mutable {
              Result sum = std::move(values.front());
              for (std::size_t n = 1; n < values.size(); ++n) sum = operation(sum, values[n]);
              return sum;
            },
            "reduce() of an object");
  }

  // --- collectives: called by all ranks of the team, in the same order as its other collective
  // operations. Each invokes `Function` on its own rank, and waits until it has run there.

  /// Invokes `Function` on the caller's own rank, and gathers the results of all ranks; returns
  /// their futures, in the order of ranks.
  template <auto Function, class... Args>
  [[nodiscard]] auto allgather(Args&&... args) const {
    Team& team = this->team_here();
    auto values = team.allgather_async(own<Function>(std::forward<Args>(args)...));
    return Futures<typename decltype(values)::value_type::value_type>(
        std::move(values), static_cast<std::size_t>(team.size()));
  }
  /// Invokes `Function` on the caller's own rank, and combines the results of all ranks with
  /// operation(a, b); returns the future of the result on every rank.
  template <auto Function, class Operation, class... Args>
  [[nodiscard]] auto allreduce(Operation operation, Args&&... args) const {
    return team_here().allreduce_async(own<Function>(std::forward<Args>(args)...),
                                       std::move(operation));
  }
  /// Invokes `Function` on the caller's own rank, and combines the results of ranks 0 to the
  /// caller's, inclusive, with operation(a, b); returns the future of the result.
  template <auto Function, class Operation, class... Args>
  [[nodiscard]] auto scan(Operation operation, Args&&... args) const {
    return team_here().scan_async(own<Function>(std::forward<Args>(args)...), std::move(operation));
  }
  /// Invokes `Function` on `root` only; returns the future of its result on every rank.
  template <auto Function, class... Args>
  [[nodiscard]] auto broadcast(Rank root, Args&&... args) const {
    using Result = typename object::Method<Function, Root>::Result;
    Team& team = this->team_here();
    return team.broadcast_async(
        team.rank() == root ? own<Function>(std::forward<Args>(args)...) : Result(), root);
  }

  // --- synchronization: collective over the team, as Team::wait()

  /// Returns when all invocations, and all other work of the team, have ended on all ranks, and
  /// advances the epoch. Collective. **Caller**, **Blocks**, **Errors**: as Team::wait().
  void fence() const { object::fence(object::sender_of(place())); }
  /// Returns when all ranks of the team have called it; invocations may still be in flight.
  /// Collective. **Caller**, **Blocks**, **Errors**: as Team::barrier().
  void barrier() const { team_here().barrier(); }
  /// Advances the epoch of this rank in the object's team, and that of the object. Invocations that
  /// the caller makes from now on, and those of the object, run on another rank only when that has
  /// advanced its epoch as often. Called by all ranks as often as by others; sends nothing. Making
  /// a distributed object, and fence(), advance that of the rank, too.
  void advance_epoch() const {
    const object::Place place = this->place();
    object::sender_of(place).advance_epoch(place.address.number);
  }

  /// Returns a handle by which invocations have no order: each may run before or after any other.
  /// On a rank they still run one at a time.
  [[nodiscard]] auto unordered() const;

 protected:
  ~Invoker() = default;

 private:
  [[nodiscard]] object::Place place() const {
    return static_cast<const Self&>(*this).place_of_object();
  }
  [[nodiscard]] Team& team_here() const { return object::sender_of(place()).team(); }

  template <auto Function, object::Kind How, class... Args>
  void send(Rank target, Args&&... args) const {
    send_to<Function, How>(place(), target, std::forward<Args>(args)...);
  }
  template <auto Function, object::Kind How, class... Args>
  SHOAL_ALWAYS_INLINE static void send_to(const object::Place& place, Rank target, Args&&... args) {
    using To = object::Receiver<Function, Root, How>;
    if (place.address.number == 0) [[unlikely]]
      object::refuse_empty_handle();
    if (object::Objects* const objects = place.objects; objects != nullptr) [[likely]] {
      object::Target header = objects->target(place.address.number, target, place.order);
      if (header.number != 0) [[likely]] {
        header.raise_epoch(To::epoch_of(place.address, args...));
        return To::send(*objects, target, header, std::forward<Args>(args)...);
      }
    }
    To::send_outside(place, target, args...);
  }
  template <auto Function, object::Kind How, class... Args>
  void send_to_all(const Args&... args) const {
    const object::Place place = this->place();
    if (place.address.number == 0) [[unlikely]]
      object::refuse_empty_handle();
    for (int rank = 0; rank < place.address.size; ++rank) {
      send_to<Function, How>(place, Rank(rank), args...);
    }
  }
  template <auto Function, class... Args>
  static auto call_at(const object::Place& place, Rank target, Args&&... args) {
    using Result = typename object::Method<Function, Root>::Result;
    TeamCore& core = object::reply_core(place);
    Promise<Result> promise(core.scheduler(), sched::StaticName{"a call"});
    Future<Result> future = promise.future();
    send_to<Function, object::Kind::call>(
        place, target,
        object::ReplyTo<Result, object::Kind::call>{team::publish(core, std::move(promise))},
        std::forward<Args>(args)...);
    return future;
  }
  template <auto Function, class... Args>
  auto own(Args&&... args) const {
    return sync<Function>(team_here().rank(), std::forward<Args>(args)...);
  }
};

namespace object {

/// Handle of an object whose invocations have no order; made by Invoker::unordered().
template <class Root>
class Unordered final : public Invoker<Unordered<Root>, Root> {
 public:
  explicit Unordered(const Place& place) : place_(place) { place_.order = Order::none; }
  [[nodiscard]] Place place_of_object() const { return place_; }

 private:
  Place place_;
};

}  // namespace object

template <class Self, class Root>
auto Invoker<Self, Root>::unordered() const {
  return object::Unordered<Root>(place());
}

}  // namespace shoal
