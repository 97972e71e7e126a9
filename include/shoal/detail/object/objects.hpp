#pragma once
// The distributed objects of a team on one rank.

#include <shoal/detail/object/invocation.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/team.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace shoal::object {

class Share;
class Turn;

/// Order of an invocation among those of its context.
enum class Order : std::uint8_t {
  causal,  // after the earlier ones of the same code to the same rank
  none,    // with respect to no other
};

/// Object of a derived type that the table owns: the receiving end of a tunnel, with its fixed
/// arguments, or a representative that construct() has made.
struct Owned {
  Owned() = default;
  virtual ~Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
};

/// Table of the representatives of one team on one rank, and the receiving end of their
/// invocations. A service of the team's core.
class Objects : public std::enable_shared_from_this<Objects> {
 public:
  /// `forwarded`: invocations that this rank has sent through rank 0 of the team before.
  Objects(Team& team, std::shared_ptr<Turn> turn, std::uint64_t forwarded);
  ~Objects();
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  /// Returns the table of a team on this rank, which the first call makes.
  [[nodiscard]] static Objects& of(Team& team);
  [[nodiscard]] static Objects& of(TeamCore& core);
  /// Returns the table of a team on the calling rank; nullptr when this rank is no member, or has
  /// not made the team yet. **Errors**: CheckError, naming `what`, on a thread outside the workers.
  [[nodiscard]] static Objects* find(std::uint64_t team, const char* what);

  [[nodiscard]] Team& team() const { return team_; }
  [[nodiscard]] TeamCore& core() const { return core_; }

  /// Called when the team has ended on this rank; representatives that are left may still be
  /// destroyed.
  void close();

  // --- representatives

  /// Registers a representative, and makes the caller take part in the turns of this rank: no
  /// invocation runs while the caller does, except where it waits. **Errors**: CheckError in a
  /// handler, in an invocation, and on a thread outside the workers. `epoch` is that of the object
  /// on this rank, until remove().
  Address add(void* representative, const ObjectClass& registered,
              std::atomic<std::uint32_t>& epoch);
  /// Registers the new address of a representative that has moved.
  void move(const Address& address, void* representative);
  void remove(const Address& address) noexcept;
  /// Returns the representative of an object on this rank; nullptr if there is none. **Errors**:
  /// CheckError that names both classes, if it is of another class than `wanted`: ranks have made
  /// their objects in different orders.
  [[nodiscard]] void* find(std::uint32_t number, const ObjectClass& wanted) const;
  /// Returns the representative of an object on this rank. **Errors**: CheckError that says why
  /// there is none, or names both classes if it is of another class than `wanted`.
  [[nodiscard]] void* get(const Address& address, const ObjectClass& wanted) const;
  /// Text of the error for an invocation of `method`, or a use, of an object that is not here.
  [[nodiscard]] std::string describe_missing(std::uint32_t number) const;
  /// "object 1 (Account)"; without the class if the object was never here, or ended long ago.
  [[nodiscard]] std::string name_of(std::uint32_t number) const;
  /// The method of an invocation, and its object.
  [[nodiscard]] std::string name_of(const Invocation& invocation) const;

  /// Takes over a representative until drop(). **Caller**: the owner of the turn.
  void keep(const Address& address, std::unique_ptr<Owned> representative);
  /// Destroys the representative that keep() took over; returns false if there is none. **Caller**:
  /// the owner of the turn.
  bool drop(const Address& address);

  /// Advances the epoch of this rank, which counts its points of synchronization in this team, and
  /// sets that of object `number`, if that is not 0, to it.
  void advance_epoch(std::uint32_t number = 0);

  // --- invocations

  /// Wire header of the caller's next invocation of an object on `to`, with the caller's epoch. Its
  /// number is 0 if the caller is counted outside the team. **Caller**: any thread.
  [[nodiscard]] Target target(std::uint32_t number, Rank to, Order order);
  /// Wire header of the next invocation in `context`, which is that of a Tunnel, of an object on
  /// `to`. Its epoch is `epoch`, or that of the rank if `follows` and that is larger.
  [[nodiscard]] Target target_in(std::uint64_t context, std::uint32_t number, Rank to,
                                 std::uint32_t epoch, bool follows) const;
  /// Returns whether the epoch of the running code is, and will be, that of the rank.
  [[nodiscard]] bool caller_follows() const;
  /// Returns the epoch of the running code. It is that of the rank for a section that has made an
  /// object of the team, and for a thread outside the workers; for an invocation, the one that it
  /// came with; for a task, that of the code which has submitted it; otherwise 0.
  [[nodiscard]] std::uint32_t caller_epoch() const;
  /// Returns the context of the running code; for an invocation, the one in which it runs.
  [[nodiscard]] std::uint64_t caller_context();
  /// Returns a context that is unique in the team.
  [[nodiscard]] std::uint64_t fresh_context();
  // Receiving ends of tunnels, by the context of their invocations. **Caller**: a handler.
  void open_tunnel(std::uint64_t context, std::unique_ptr<Owned> end);
  void close_tunnel(std::uint64_t context);
  /// Returns the receiving end of a tunnel. **Errors**: CheckError when it is not open.
  [[nodiscard]] const Owned& tunnel(std::uint64_t context) const;
  /// Takes an invocation that has arrived; `outside`: if it comes from outside the team, else
  /// nullptr. **Caller**: a handler.
  void accept(std::unique_ptr<Invocation> invocation, Arrived* outside);

  // Invocations through rank 0 of the team that this rank sent before it made the team: see
  // Forwards.
  /// Returns whether the next invocation travels through rank 0, too, because some of the earlier
  /// ones have not arrived; counts it if so. **Caller**: any thread.
  [[nodiscard]] bool forward();
  /// Counts the arrival of an invocation that forward() has counted. **Caller**: a handler.
  void forward_arrived();

  /// Sets whether the section waits in a fence: then one context after the other runs all of its
  /// invocations.
  void set_draining(bool draining);

  // --- fences of external threads

  /// Registers an external thread in a fence: the next pass_fences() sets `place` to a Hold and
  /// fulfils the promise. **Caller**: any thread.
  void add_fence(std::optional<Hold>& place, Promise<void> passed);
  /// Called when the section of this rank has passed a fence, or failed in it.
  void pass_fences(const std::exception_ptr& error);
  /// Fails the team, because an invocation threw whose caller does not wait.
  void fail(const std::string& name, const std::exception_ptr& error);

 private:
  friend class Share;
  struct ExternalFence {
    std::optional<Hold>* place;
    Promise<void> passed;
  };

  /// Returns whether the running code is counted in a team in which this one is not nested: then
  /// that team's wait() must include the invocations that the code makes now.
  [[nodiscard]] bool is_crossed() const;

  Team& team_;
  TeamCore& core_;
  const std::shared_ptr<Share> share_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Owned>> tunnels_;  // the handlers'
  std::unordered_map<std::uint32_t, std::unique_ptr<Owned>> owned_;    // by number; see keep()
  sync::Mutex fences_mutex_;
  std::vector<ExternalFence> fences_ SHOAL_GUARDED_BY(fences_mutex_);
};

}  // namespace shoal::object
