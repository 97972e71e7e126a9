#pragma once
// Distributed objects made by one rank, on a team of their own.

#include <shoal/distributed_object.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace shoal {

namespace object {

/// A representative that construct() has made, and its share of the team.
template <class T>
class Constructed final : public Owned {
 public:
  template <class... Args>
  explicit Constructed(Team& team, Args&&... args)
      : team_(team.share()), object_(std::make_unique<T>(team, std::forward<Args>(args)...)) {}
  [[nodiscard]] const T& get() const { return *object_; }

 private:
  std::shared_ptr<Team> team_;  // ends after the object
  std::unique_ptr<T> object_;
};

/// Constructs the representative of one member: the section of the new team. If constructors throw,
/// the member with the lowest rank reports its error.
template <class T, class... Args>
void construct_here(Team& team, const RemotePromise<Handle<RootOf<T>>>& reply, Args... args) {
  Handle<RootOf<T>> handle;
  std::string error;
  try {
    auto* const made = new Constructed<T>(team, std::move(args)...);
    std::unique_ptr<Owned> owner(made);
    handle = Handle<RootOf<T>>(made->get());
    // Before rank 0 gives the handle away: its user may delete the object while this task waits.
    Objects::of(team).keep(handle.address(), std::move(owner));
  } catch (const CancelledError&) {
    throw;
  } catch (...) {
    error = describe(sched::caught_exception());
  }
  const int failing = team.allreduce(handle != nullptr ? team.size() : team.rank().value(),
                                     [](int a, int b) { return a < b ? a : b; });
  if (failing == team.rank()) {
    team::fail(Objects::of(team).core(), reply, "the constructor of " + type_name<T>(), error);
  }
  if (failing < team.size()) {
    if (handle != nullptr) Objects::of(team).drop(handle.address());
    return;
  }
  // All members have made the team, so it may bring the answer, though the promise is its parent's.
  if (team.rank() == 0) {
    team.fulfill(RemotePromise<Handle<RootOf<T>>>{reply.rank, 0, reply.number}, handle);
  }
}

}  // namespace object

/// Makes a new team of `ranks` of `team`, and on each member a representative `T(new_team,
/// args...)` of a distributed object. Called by one rank; returns at once. The team lives until
/// ObjectDeleter has deleted the object, and `team` does not end before. Nobody waits for the new
/// team, so its failure, by an invocation that throws for example, fails `team`.
/// **Future**: the handle, when all representatives are there; RemoteError if a constructor threw.
/// **Cost**: log2(members) messages in depth, and a barrier. **Source**: stapl-rts thesis, 3.3.2.
template <class T, class... Args>
[[nodiscard]] Future<Handle<object::RootOf<T>>> construct(Team& team, const RankSet& ranks,
                                                          Args... args) {
  using Result = Handle<object::RootOf<T>>;
  sched::Scheduler& scheduler = team.core().scheduler();
  Promise<Result> made(scheduler, "construct()");
  Future<Result> handle = made.future();
  const RemotePromise<Result> reply = team.publish(std::move(made));
  static const std::string name = type_name<T>();  // made once: it takes a while
  team.launch_team_of(name, ranks, am<&object::construct_here<T, Args...>>, reply,
                      std::move(args)...);
  return handle;
}

namespace object {

template <class T, class R, class... Args>
Handle<RootOf<T>> construct_over(R& representative, const RankSet& ranks, Args... args) {
  const Address address = representative.handle().address();
  return construct<T>(objects_for(address, "construct()").team(), ranks, std::move(args)...).get();
}

}  // namespace object

/// Makes a new team of `ranks` of the team of another object, `over`, and on each member a
/// representative `T(new_team, args...)` of a distributed object; returns the future of its handle,
/// and does not block. The caller's rank need not be a member of that team. **Errors**, **Cost**:
/// as construct() of a team.
template <class T, class R, class... Args>
[[nodiscard]] Future<Handle<object::RootOf<T>>> construct(const Handle<R>& over,
                                                          const RankSet& ranks, Args... args) {
  const object::Place place = over.place_of_object();
  if (place.objects != nullptr) {
    return construct<T>(place.objects->team(), ranks, std::move(args)...);
  }
  return over.template call<&object::construct_over<T, R, Args...>>(Rank(0), ranks,
                                                                    std::move(args)...);
}
/// Makes a new team of all ranks of the team of another object, `over`, and on each member a
/// representative `T(new_team, args...)` of a distributed object; returns the future of its handle,
/// and does not block. The caller's rank need not be a member of that team. **Errors**, **Cost**:
/// as construct() of a team.
template <class T, class R, class... Args>
[[nodiscard]] Future<Handle<object::RootOf<T>>> construct(const Handle<R>& over, AllRanks /*all*/,
                                                          Args... args) {
  return construct<T>(over, RankSet::range(Rank(0), over.address().size), std::move(args)...);
}

/// Deletes all representatives of an object, each of which was made by `new` or by construct().
/// Called by one rank; nothing else may delete the object. Invocations that the caller made before
/// run before.
template <class T>
struct ObjectDeleter {
  /// Deletes them all.
  void operator()(const Handle<T>& handle) const {
    handle.template async<[](T& representative) {
      object::Objects& objects =
          *object::Objects::find(representative.handle().address().team, "a deleter");
      if (!objects.drop(representative.handle().address())) delete &representative;
    }>(all_ranks);
  }
};

}  // namespace shoal
