#pragma once
// Collective operations on values with a type.

#include <shoal/archive.hpp>
#include <shoal/detail/base/number.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/team/coll/collectives.hpp>
#include <shoal/future.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::team {

template <class T>
Block block_of(const T& value) {
  const std::size_t size = encoded_size<T>(value);
  if (size <= Block::kInlineMax) {
    alignas(std::max_align_t) std::array<std::byte, Block::kInlineMax> bytes{};
    encode<T>(std::span(bytes).first(size), value);
    return Block(std::span<const std::byte>(bytes).first(size));
  }
  Bytes bytes(size);
  encode<T>(std::span(bytes), value);
  return Block(std::move(bytes));
}
template <class T>
T value_of(const Block& block) {
  static_assert(!wire::is_view_v<T>,
                "shoal: a collective operation returns values, and a view owns none: give it a "
                "std::string or std::vector");
  return std::get<0>(decode<T>(block.bytes()));
}
template <class T>
std::vector<Block> blocks_of(const std::vector<T>& values) {
  std::vector<Block> blocks;
  blocks.reserve(values.size());
  for (const T& value : values) blocks.push_back(block_of(value));
  return blocks;
}
template <class T>
std::vector<T> values_of(const std::vector<Block>& blocks) {
  std::vector<T> values;
  values.reserve(blocks.size());
  for (const Block& block : blocks) values.push_back(value_of<T>(block));
  return values;
}

/// Refuses operations that cut off numbers: std::plus<int> for doubles, or a mean of integers.
template <class T, class F>
consteval void check_operation() {
  if constexpr (std::is_invocable_v<F&, T, T>) {
    static_assert(!truncates_result_v<std::invoke_result_t<F&, T, T>, T>,
                  "shoal: the operation returns a larger type of number than it combines, which "
                  "would be truncated: combine numbers of that type");
  }
  static_assert(!truncates_operands_v<T, F>,
                "shoal: the parameters of the operation are smaller than the collective's type, "
                "which they would truncate: std::plus<>() takes every type");
}

template <class T, class F>
Combine combine_of(F operation) {
  check_operation<T, F>();
  return [operation = std::move(operation)](const Block& a, const Block& b) mutable {
    return block_of<T>(operation(value_of<T>(a), value_of<T>(b)));
  };
}
template <class T, class F>
CombineInto combine_into_of(F operation) {
  check_operation<T, F>();
  return
      [operation = std::move(operation)](std::span<std::byte> result, std::span<const std::byte> a,
                                         std::span<const std::byte> b) mutable {
        for (std::size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
          std::array<T, 2> pair;
          std::memcpy(&pair[0], a.data() + at, sizeof(T));
          std::memcpy(&pair[1], b.data() + at, sizeof(T));
          const T combined = operation(pair[0], pair[1]);
          std::memcpy(result.data() + at, &combined, sizeof(T));
        }
      };
}

template <class T>
consteval void check_elements() {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                "shoal: a collective operation on a span copies its elements byte by byte: they "
                "must be trivially copyable, and not const where they are written");
}
/// Name of an operation: of a type without state, without the arguments of a template at its end,
/// so that std::plus<>() is std::plus<int>(). Lambdas, and types within functions, have none: those
/// of two places may do the same, and compilers spell them in several ways.
template <class F>
consteval std::string_view operation_name() {
  if constexpr (!std::is_empty_v<F>) {
    return {};
  } else {
    constexpr std::string_view kAnonymous = "(anonymous namespace)";  // as clang spells it
    std::string_view name = naming::type_text<F>();
    for (std::size_t at = name.find('('); at != name.npos; at = name.find('(', at + 1)) {
      if (name.substr(at, kAnonymous.size()) != kAnonymous) return {};
    }
    if (!name.ends_with('>')) return name;
    for (int depth = 0;;) {
      depth += name.back() == '>' ? 1 : name.back() == '<' ? -1 : 0;
      name.remove_suffix(1);
      if (depth == 0 || name.empty()) return name;
    }
  }
}
/// Type of values that are combined by F, if it is one.
template <class T, class F>
consteval ValueType make_value_type() {
  const std::string_view name = operation_name<F>();
  const auto hash = static_cast<std::uint16_t>(name.empty() ? 0 : wire::fnv1a(name) | 1U);
  return {type_signature<T>(), naming::spelled<T>(), sizeof(T), name, hash};
}
template <class T, class F>
inline constexpr ValueType value_type = make_value_type<T, F>();
template <class T, class F>
inline constexpr Values single_values{&value_type<T, F>, Values::kSingle,
                                      value_type<T, F>.signature};
/// One value of each member.
template <class T, class F = void>
const Values& single() {
  return single_values<T, F>;
}
/// An array of each member: those of different sizes differ.
template <class T, class F = void>
Values array(std::size_t size_bytes) {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
  return {&value_type<T, F>, size_bytes,
          value_type<T, F>.signature + 1 + static_cast<std::uint32_t>((size_bytes * kMix) >> 32U)};
}
/// Copies the results of an operation on small arrays into place, one after the other.
void copy_results(std::span<const Block> results, std::span<std::byte> place);
inline auto into(std::span<std::byte> place) {
  return [place](const std::vector<Block>& results) { copy_results(results, place); };
}

/// The completion of an operation with its result, which `Convert` makes.
template <class R, class Convert>
class ResultOf final : public sched::CompletionOf<R>, public Result {
 public:
  ResultOf(sched::Scheduler& scheduler, const WaitedOperation& operation, Convert convert)
      : sched::CompletionOf<R>(scheduler, sched::StaticName{operation.name}),
        Result(static_cast<sched::Completion&>(*this), operation),
        convert_(std::move(convert)) {}

  [[nodiscard]] std::string describe() const override { return describe_wait(); }
  [[nodiscard]] std::string trace_text() const override { return sched::Completion::describe(); }
  // It goes on with the caller's arrays, which must not go away before.
  [[nodiscard]] sched::Cancellable cancellable() const override {
    return sched::Cancellable::by_team;
  }

  friend void add_reference(ResultOf* result) {
    add_reference(static_cast<sched::Completion*>(result));
  }
  friend void remove_reference(ResultOf* result) {
    remove_reference(static_cast<sched::Completion*>(result));
  }

 private:
  void store(const std::vector<Block>& results) override {
    if constexpr (std::is_void_v<R>) {
      convert_(results);
      this->value.emplace();
    } else {
      this->value.emplace(convert_(results));
    }
  }

  Convert convert_;
};

/// An operation that has begun, and how its result is made.
template <class R, class Convert>
class Started {
 public:
  Started(Collectives& in, SharedOperation operation, Convert convert)
      : in_(in), operation_(std::move(operation)), convert_(std::move(convert)) {}

  /// Parks the caller. **Errors**: as Team::wait().
  R wait() { return convert_(in_.wait(operation_)); }
  /// Ready when the operation has ended on this rank.
  Future<R> future() {
    const sync::Ref result(new ResultOf<R, Convert>(
        in_.scheduler(), Collectives::waited_operation(operation_), std::move(convert_)));
    Future<R> future = result->make_future();
    in_.then(operation_, result);
    return future;
  }

 private:
  Collectives& in_;
  SharedOperation operation_;
  Convert convert_;
};

template <class R, class Convert>
Started<R, Convert> start(Collectives& in, SharedOperation operation, Convert convert) {
  return {in, std::move(operation), std::move(convert)};
}

inline auto barrier(Collectives& in) {
  return start<void>(in, in.barrier(), [](const std::vector<Block>& /*none*/) {});
}
template <class T>
auto broadcast(Collectives& in, const T& value, Rank root) {
  Block mine = in.rank() == root ? block_of(value) : Block();
  return start<T>(in, in.broadcast(single<T>(), std::move(mine), root),
                  [](const std::vector<Block>& all) { return value_of<T>(all.front()); });
}
/// Without a copy within a process.
template <class T>
auto broadcast(Collectives& in, const Immutable<T>& value, Rank root) {
  using Handle = Immutable<T>;
  Block mine;
  if (in.rank() == root) {
    const bool shares = in.in_one_process() && static_cast<bool>(value);
    mine = shares ? Block(SharedValue{value.shared()}) : block_of(value);
  }
  return start<Handle>(in, in.broadcast(single<Handle>(), std::move(mine), root),
                       [](const std::vector<Block>& all) {
                         const std::shared_ptr<const void>& object = all.front().object().value;
                         if (object == nullptr) return value_of<Handle>(all.front());
                         return Handle(std::static_pointer_cast<const T>(object));
                       });
}
template <class T>
auto broadcast(Collectives& in, std::span<T> place, Rank root) {
  check_elements<T>();
  return start<void>(
      in, in.broadcast(array<T>(place.size_bytes()), std::as_writable_bytes(place), root),
      [](const std::vector<Block>& /*none*/) {});
}
template <class T, class F>
auto reduce(Collectives& in, const T& value, F operation, Rank root) {
  return start<std::optional<T>>(
      in, in.reduce(single<T, F>(), block_of(value), combine_of<T>(std::move(operation)), root),
      [](const std::vector<Block>& all) {
        return all.empty() ? std::optional<T>() : value_of<T>(all.front());
      });
}
template <class T, class F>
auto allreduce(Collectives& in, const T& value, F operation) {
  return start<T>(
      in, in.allreduce(single<T, F>(), block_of(value), combine_of<T>(std::move(operation))),
      [](const std::vector<Block>& all) { return value_of<T>(all.front()); });
}
template <class T, class F>
auto allreduce(Collectives& in, std::span<T> place, F operation) {
  check_elements<T>();
  return start<void>(
      in,
      in.allreduce(array<T, F>(place.size_bytes()), Array{std::as_writable_bytes(place), sizeof(T)},
                   combine_into_of<T>(std::move(operation))),
      [](const std::vector<Block>& /*none*/) {});
}
template <class T>
auto gather(Collectives& in, const T& value, Rank root) {
  return start<std::vector<T>>(in, in.gather(single<T>(), block_of(value), root), values_of<T>);
}
template <class T>
auto allgather(Collectives& in, const T& value) {
  return start<std::vector<T>>(in, in.allgather(single<T>(), block_of(value)), values_of<T>);
}
template <class T, class F>
auto scan(Collectives& in, const T& value, F operation) {
  return start<T>(in, in.scan(single<T, F>(), block_of(value), combine_of<T>(std::move(operation))),
                  [](const std::vector<Block>& all) { return value_of<T>(all.front()); });
}
template <class T, class F>
auto exclusive_scan(Collectives& in, const T& value, F operation, T initial) {
  // A copy for the coroutine, which goes on after this returns.
  return start<T>(in, in.scan(single<T, F>(), block_of(value), combine_of<T>(operation)),
                  [operation, initial = std::move(initial)](const std::vector<Block>& all) mutable {
                    return all.size() < 2 ? std::move(initial)
                                          : T(operation(std::move(initial), value_of<T>(all[1])));
                  });
}
template <class T>
auto alltoall(Collectives& in, const std::vector<T>& values) {
  return start<std::vector<T>>(in, in.alltoall(Kind::alltoall, single<T>(), blocks_of(values)),
                               values_of<T>);
}
template <class T, class F>
auto reduce_scatter(Collectives& in, const std::vector<T>& values, F operation) {
  return start<T>(in, in.alltoall(Kind::reduce_scatter, single<T, F>(), blocks_of(values)),
                  [operation = std::move(operation)](const std::vector<Block>& all) mutable {
                    T sum = value_of<T>(all.front());
                    for (std::size_t i = 1; i < all.size(); ++i) {
                      sum = operation(std::move(sum), value_of<T>(all[i]));
                    }
                    return sum;
                  });
}

// --- on arrays, in place

template <class T, class F>
auto reduce(Collectives& in, std::span<T> place, F operation, Rank root) {
  check_elements<T>();
  const std::span<std::byte> bytes = std::as_writable_bytes(place);
  return start<void>(in,
                     in.reduce(array<T, F>(bytes.size()), Array{bytes, sizeof(T)},
                               combine_into_of<T>(std::move(operation)), root),
                     into(bytes));
}
template <class T, class F>
auto scan(Collectives& in, std::span<T> place, F operation) {
  check_elements<T>();
  const std::span<std::byte> bytes = std::as_writable_bytes(place);
  return start<void>(in,
                     in.scan(array<T, F>(bytes.size()), Array{bytes, sizeof(T)},
                             combine_into_of<T>(std::move(operation))),
                     [bytes](const std::vector<Block>& results) {
                       copy_results(std::span(results).first(results.empty() ? 0 : 1), bytes);
                     });
}
template <class T>
auto gather(Collectives& in, std::span<const std::type_identity_t<T>> mine, std::span<T> all,
            Rank root) {
  check_elements<T>();
  return start<void>(in,
                     in.gather(array<T>(mine.size_bytes()), std::as_bytes(mine),
                               std::as_writable_bytes(all), root),
                     into(std::as_writable_bytes(all)));
}
template <class T>
auto allgather(Collectives& in, std::span<const std::type_identity_t<T>> mine, std::span<T> all) {
  check_elements<T>();
  return start<void>(
      in,
      in.allgather(array<T>(mine.size_bytes()), std::as_bytes(mine), std::as_writable_bytes(all)),
      into(std::as_writable_bytes(all)));
}
template <class T>
auto alltoall(Collectives& in, std::span<const std::type_identity_t<T>> mine, std::span<T> theirs) {
  check_elements<T>();
  return start<void>(
      in,
      in.alltoall(array<T>(mine.size_bytes()), std::as_bytes(mine), std::as_writable_bytes(theirs)),
      into(std::as_writable_bytes(theirs)));
}
template <class T, class F>
auto reduce_scatter(Collectives& in, std::span<const std::type_identity_t<T>> values,
                    std::span<T> mine, F operation) {
  check_elements<T>();
  const std::span<std::byte> bytes = std::as_writable_bytes(mine);
  return start<void>(
      in,
      in.reduce_scatter(array<T, F>(values.size_bytes()), std::as_bytes(values), bytes,
                        combine_into_of<T>(operation)),
      [bytes, combine = combine_into_of<T>(operation)](const std::vector<Block>& results) mutable {
        if (results.empty()) return;
        copy_results(std::span(results).first(1), bytes);
        for (std::size_t i = 1; i < results.size(); ++i) {
          combine(bytes, bytes, results[i].bytes());
        }
      });
}

}  // namespace shoal::team
