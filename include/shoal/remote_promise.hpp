#pragma once
// Promises that are fulfilled from other ranks.

#include <shoal/archive.hpp>
#include <shoal/detail/team/promise_table.hpp>
#include <shoal/error.hpp>
#include <shoal/future.hpp>
#include <shoal/message.hpp>
#include <shoal/message_context.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace shoal {

/// Handle of a promise of type T on some rank; travels in messages. See Team::publish().
template <class T>
struct RemotePromise {
  /// World rank that has the promise.
  Rank rank{-1};
  /// 1: the promise was published in the world, and answers travel in the world, as its rank may
  /// not have made the team of the code that answers yet; 0: in a team.
  std::uint32_t in_world = 0;
  /// Number of the promise on its rank.
  std::uint64_t number = 0;
};

/// An exception that a function called on another rank has thrown.
class RemoteError : public Error {
 public:
  /// An exception of `function` on `rank`, which `caller` has called, with this text. An empty
  /// function: the program has failed the promise by Team::fail().
  RemoteError(Rank rank, Rank caller, std::string function, std::string text);
  /// The function that threw, or the method and its object.
  [[nodiscard]] const std::string& function() const { return function_; }
  /// Rank that threw.
  [[nodiscard]] Rank rank() const { return rank_; }
  /// what() of the original exception.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  Rank rank_;
  std::string function_;
  std::string text_;
};

namespace team {

PromiseTable& promises_of(const TeamCore& core);
Services& services_of(const TeamCore& core);
int world_rank_of(const TeamCore& core);

/// Base of ContextOf for a service of the receiving rank: handlers may take T& first.
template <class T>
struct ServiceContext {
  static T& get(const MessageContext& context) {
    return services_of(context.core()).template get<T>();
  }
};

/// Handlers of fulfill() and fail().
struct Replies {
  template <class T>
  static void accept_value(const MessageContext& context, std::uint64_t number, T value) {
    promises_of(context.core()).fulfill<T>(number, std::move(value));
  }
  static void accept_void(const MessageContext& context, std::uint64_t number);
  static void accept_error(const MessageContext& context, std::uint64_t number, int rank,
                           const std::string& function, const std::string& text);
};

/// Team of a message to a rank of the world, and the rank in its team: `core` if the rank is
/// a member, else the core of the world.
struct Address {
  TeamCore& core;
  Rank member;
};
[[nodiscard]] Address address_of(TeamCore& core, int world_rank, bool in_world);

/// Publishes the promise: other ranks can fulfil it, once. If the team of `core` fails first,
/// and is not the world, it gets a TaskError. **Caller**: any thread.
template <class T>
[[nodiscard]] RemotePromise<T> publish(TeamCore& core, Promise<T>&& promise) {
  static_assert(!wire::is_view_v<T>,
                "shoal: a view in a message ends with it, and a promise keeps its value: promise a "
                "std::string or std::vector");
  return {Rank(world_rank_of(core)), core.id() == 0 ? 1U : 0U,
          promises_of(core).add(std::move(promise), core)};
}

/// Fulfils a published promise of any rank by a message. **Caller**, **Blocks**: as
/// ActiveMessage::send(). **Errors**: the team fails on the promise's rank when it was fulfilled
/// already.
template <class T, class Value>
void fulfill(TeamCore& core, const RemotePromise<T>& promise, Value&& value) {
  check_fraction<Value, T>();
  const Address to = address_of(core, promise.rank, promise.in_world != 0);
  if constexpr (std::is_same_v<std::remove_cvref_t<Value>, T>) {
    send(to.core, to.member, am<&Replies::accept_value<T>>, promise.number,
         std::forward<Value>(value));
  } else {
    if constexpr (may_cut_v<Value, T>) {
      if (!holds<T>(value)) {
        detail::refuse_number("fulfill() of a promise of rank " + std::to_string(promise.rank),
                              value, naming::type_text<T>());
      }
    }
    send(to.core, to.member, am<&Replies::accept_value<T>>, promise.number,
         wire::own<T>(std::forward<Value>(value)));
  }
}
void fulfill(TeamCore& core, const RemotePromise<void>& promise);
void fail_promise(TeamCore& core, int rank, bool in_world, std::uint64_t number,
                  const std::string& function, const std::string& text);
/// Gives the promise a RemoteError with this text. `function`: see RemoteError.
template <class T>
void fail(TeamCore& core, const RemotePromise<T>& promise, const std::string& function,
          const std::string& text) {
  fail_promise(core, promise.rank, promise.in_world != 0, promise.number, function, text);
}

}  // namespace team
}  // namespace shoal
