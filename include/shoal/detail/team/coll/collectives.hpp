#pragma once
// Collective operations of a team, on active messages between its members.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/sched/completion.hpp>
#include <shoal/detail/sync/ref.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/immutable.hpp>
#include <shoal/rank.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::team {

using Bytes = std::vector<std::byte>;

/// A value that ranks of one process share as it is. It does not travel between processes.
struct SharedValue {
  std::shared_ptr<const void> value;
};

/// An immutable value: its bytes, few of which are kept in place, while copies share many; or an
/// object that is not encoded, because no member is in another process.
class Block {
 public:
  static constexpr std::size_t kInlineMax = 36;

  Block() = default;
  explicit Block(Bytes bytes) {
    if (bytes.size() <= kInlineMax) {
      *this = Block(std::span<const std::byte>(bytes));
    } else {
      shared_ = make_immutable<Bytes>(std::move(bytes));
    }
  }
  explicit Block(Immutable<Bytes> shared) : shared_(std::move(shared)) {}
  explicit Block(SharedValue object) : object_(std::move(object)) {}
  /// A copy of `bytes`.
  explicit Block(std::span<const std::byte> bytes) {
    if (bytes.size() > kInlineMax) {
      shared_ = make_immutable<Bytes>(bytes.begin(), bytes.end());
    } else if (!bytes.empty()) {
      inline_size_ = static_cast<std::uint32_t>(bytes.size());
      std::memcpy(inline_.data(), bytes.data(), bytes.size());
    }
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    if (shared_) return *shared_;
    return std::span(inline_).first(inline_size_);
  }
  [[nodiscard]] std::size_t size() const { return bytes().size(); }
  /// Empty: the bytes are kept in place.
  [[nodiscard]] const Immutable<Bytes>& shared() const { return shared_; }
  /// Without a value: there are bytes.
  [[nodiscard]] const SharedValue& object() const { return object_; }

 private:
  alignas(std::max_align_t) std::array<std::byte, kInlineMax> inline_{};  // is decoded in place
  std::uint32_t inline_size_ = 0;
  Immutable<Bytes> shared_;
  SharedValue object_;
};

}  // namespace shoal::team

namespace shoal::wire {

template <>
struct IsPlain<team::SharedValue> : std::true_type {};

template <>
struct Codec<team::SharedValue> {
  template <class Archive>
  static constexpr void save(Archive& /*ar*/, const team::SharedValue& /*value*/) {}
  static team::SharedValue load(ReadArchive& /*ar*/) {
    throw DecodeError("a value that the ranks of a process share came from another process");
  }
};

}  // namespace shoal::wire

namespace shoal::team {

/// operation(a, b) of two encoded values.
using Combine = Function<Block(const Block&, const Block&)>;
/// result = operation(a, b), for each element; `result` may be `a` or `b`.
using CombineInto = Function<void(std::span<std::byte> result, std::span<const std::byte> a,
                                  std::span<const std::byte> b)>;
/// Elements of one member, of `element_bytes` each: as many on all members.
struct Array {
  std::span<std::byte> bytes;
  std::size_t element_bytes = 1;
};

enum class Kind : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  gather,
  allgather,
  scan,
  alltoall,
  reduce_scatter
};
[[nodiscard]] const char* name_of(Kind kind);

/// Type of values, or of the elements of arrays, and what combines them.
struct ValueType {
  std::uint32_t signature = 0;
  std::string_view spelled;  // by the compiler
  std::size_t size_bytes = 1;
  std::string_view operation;        // empty: none, or one without a name
  std::uint16_t operation_hash = 0;  // 0: equal to any
};
/// Values of an operation, alike on all members.
struct Values {
  static constexpr std::size_t kSingle = ~std::size_t{0};

  const ValueType* type = nullptr;    // nullptr: none
  std::size_t array_bytes = kSingle;  // of the array of each member
  std::uint32_t signature = 0;        // of both
};

/// Description of an operation, the same on all members.
struct Call {
  Kind kind = Kind::barrier;
  Rank root{0};
  Values values{};

  [[nodiscard]] bool has_root() const {
    return kind == Kind::broadcast || kind == Kind::reduce || kind == Kind::gather;
  }
  [[nodiscard]] std::uint16_t operation_hash() const {
    return values.type != nullptr ? values.type->operation_hash : std::uint16_t{0};
  }
  /// "reduce() of 4 elements of double by std::plus with root 1".
  [[nodiscard]] std::string text() const;
};

/// One collective operation on one rank, from its begin to its end.
class Operation;
/// Pieces of operations between this rank and other members.
class Exchange;
using SharedOperation = std::shared_ptr<Operation>;

/// The result of an operation: a part of its completion.
class Result {
 public:
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  /// Called once, on any thread, when the operation has ended on this rank.
  void complete(const std::vector<Block>& results);
  /// Called in its place when the team has failed.
  void fail(const std::exception_ptr& error) { completion_.complete(error, false); }
  /// Called in its place when the operation goes before its end.
  void break_off() { fail(sched::broken_promise(completion_)); }

  friend void add_reference(Result* result) { add_reference(&result->completion_); }
  friend void remove_reference(Result* result) { remove_reference(&result->completion_); }

 protected:
  Result(sched::Completion& completion, const WaitedOperation& operation)
      : completion_(completion), operation_(operation) {}
  ~Result() = default;
  /// Text for reports: "get() of allreduce() (collective number 2)".
  [[nodiscard]] std::string describe_wait() const;
  /// Stores the value, or throws.
  virtual void store(const std::vector<Block>& results) = 0;

 private:
  sched::Completion& completion_;
  const WaitedOperation operation_;
};

/// One per rank of a team; made on all its ranks before any other instance handler of the team. All
/// members begin the same operations in the same order. An operation goes on in handlers: any
/// number may be under way. Values of kLargeMessageBytes and more travel as payloads of large
/// messages; large arrays straight between the members' memory, with several parts under way.
class Collectives {
 public:
  explicit Collectives(TeamCore& core);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  [[nodiscard]] Rank rank() const;
  [[nodiscard]] sched::Scheduler& scheduler() const;
  /// All members are ranks of this process: immutable values need not be encoded.
  [[nodiscard]] bool in_one_process() const;

  // --- begin an operation. **Caller**: a main function or task. **Errors**: CheckError for a root
  // that does not exist. When another member has begun something else, the team fails with an
  // error that names both. Results are in the order of ranks. `combine` runs in handlers. Arrays
  // outlive the operation; small ones give results, as values do, and large ones are in place.

  /// Depth log2(n). No results.
  SharedOperation barrier();
  /// One result: the root's value. Depth log2(n).
  SharedOperation broadcast(const Values& values, Block mine, Rank root);
  /// Copies the array of the root into `place` of the others. No results.
  SharedOperation broadcast(const Values& values, std::span<std::byte> place, Rank root);
  /// One result on the root. Values are combined in the order of ranks. Depth log2(n) + 1.
  SharedOperation reduce(const Values& values, Block mine, Combine combine, Rank root);
  /// Combines the arrays of all members into that of the root; if it is small, into one result
  /// there. Large ones go along a chain.
  SharedOperation reduce(const Values& values, Array mine, CombineInto combine, Rank root);
  /// One result. Values are combined in the order of ranks, alike on all. Depth log2(n) + 2.
  SharedOperation allreduce(const Values& values, Block mine, Combine combine);
  /// Combines the arrays of all members into `mine` of each. No results. Large ones are combined in
  /// the order of a ring.
  SharedOperation allreduce(const Values& values, Array mine, CombineInto combine);
  /// n results on the root. Depth log2(n). Large values go to the root directly.
  SharedOperation gather(const Values& values, Block mine, Rank root);
  /// Into `all` on the root, if the arrays are large.
  SharedOperation gather(const Values& values, std::span<const std::byte> mine,
                         std::span<std::byte> all, Rank root);
  /// n results. Depth log2(n). Large values are multicast in segments.
  SharedOperation allgather(const Values& values, Block mine);
  /// Into `all`, if the arrays are large: round a ring.
  SharedOperation allgather(const Values& values, std::span<const std::byte> mine,
                            std::span<std::byte> all);
  /// Two results, or one on rank 0: the values of ranks 0 to this one combined, and those before
  /// this one. Depth log2(n).
  SharedOperation scan(const Values& values, Block mine, Combine combine);
  /// In place; one or two results, if they are small. Large ones go along the chain of ranks.
  SharedOperation scan(const Values& values, Array mine, CombineInto combine);
  /// n results: the value of each rank for this one. n - 1 messages from each rank.
  SharedOperation alltoall(Kind kind, const Values& values, std::vector<Block> mine);
  /// Into `theirs`, if the parts are large.
  SharedOperation alltoall(const Values& values, std::span<const std::byte> mine,
                           std::span<std::byte> theirs);
  /// Into `mine`, if it is large, round a ring; else n results, to be combined.
  SharedOperation reduce_scatter(const Values& values, std::span<const std::byte> all,
                                 std::span<std::byte> mine, CombineInto combine);

  /// Parks the caller until the operation has ended. **Errors**: as Team::wait().
  const std::vector<Block>& wait(const SharedOperation& operation);
  /// Returns the operation as reports name it.
  [[nodiscard]] static WaitedOperation waited_operation(const SharedOperation& operation);
  /// Completes `result` when the operation has ended, or at once.
  void then(const SharedOperation& operation, const sync::Ref<Result>& result);

 private:
  template <class Start>
  SharedOperation begin(const Call& call, Start start);
  /// Values of `part` bytes go straight into place.
  [[nodiscard]] bool goes_straight(std::size_t part_bytes) const;
  /// Arrays of this size go along a chain.
  [[nodiscard]] bool goes_along_chain(std::size_t size_bytes) const;

  const std::unique_ptr<Exchange> exchange_;
};

}  // namespace shoal::team
