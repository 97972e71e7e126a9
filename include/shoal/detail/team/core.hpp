#pragma once
// The core of a team on one rank: its members, handlers, messages, completion and failure.

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/sync/mutex.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/detail/team/rank_map.hpp>
#include <shoal/detail/team/services.hpp>
#include <shoal/detail/team/sources.hpp>
#include <shoal/error.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::team {

/// Handlers by index, in the order in which they were made. A handler that was added as closed is
/// not found before the next open_all(), as objects that it refers to may not be set up yet. A
/// removed one takes no memory. **Caller**: any thread.
class HandlerTable {
 public:
  struct Added {
    std::uint32_t index = 0;
    bool opened = false;
  };
  /// Adds a handler. If it has no name it gets one from its index and its type. It is open at once
  /// unless `closed` is set or handlers before it are closed. Its signature then includes its name
  /// and source.
  Added add(std::shared_ptr<Handler> handler, const std::string& name, const HandlerSource& source,
            bool closed);
  /// Sets whether handlers of one name and source are numbered in their order, so that the number
  /// identifies them. Called before the first one is added.
  void set_numbered(bool numbered) { is_numbered_ = numbered; }
  /// Opens all handlers; returns false if all were open.
  bool open_all();
  /// Makes all_open() false, so that its callers look at the handler itself.
  void close() { all_open_.store(false, std::memory_order_relaxed); }
  /// Makes all_open() false for good: tasks run in attempts, and senders look for one.
  void ask_always();
  /// relaxed: the main function, and a task before its attempts, read what they wrote themselves.
  [[nodiscard]] bool all_open() const { return all_open_.load(std::memory_order_relaxed); }
  /// Takes the handler out; its index is not used again. nullptr: it was removed before.
  [[nodiscard]] std::shared_ptr<Handler> remove(std::uint32_t index);

  /// Finds a handler; returns false if it is not open yet. `handler` becomes nullptr if it was
  /// removed.
  [[nodiscard]] bool find(std::uint32_t index, const Handler*& handler) const;
  [[nodiscard]] bool is_open(std::uint32_t index) const;
  /// It was added and not removed.
  [[nodiscard]] bool is_live(std::uint32_t index) const;
  /// Number of handlers that were added and not removed.
  [[nodiscard]] std::size_t live_count() const;
  /// Name in reports.
  [[nodiscard]] std::string name_of(std::uint32_t index) const;
  /// Returns the name in reports and the place in the source.
  [[nodiscard]] std::string describe(std::uint32_t index) const;

 private:
  mutable sync::Mutex mutex_;
  std::unordered_map<std::uint32_t, std::shared_ptr<Handler>> handlers_ SHOAL_GUARDED_BY(mutex_);
  bool is_numbered_ = false;
  bool asks_ SHOAL_GUARDED_BY(mutex_) = false;             // see ask_always()
  std::uint32_t count_ SHOAL_GUARDED_BY(mutex_) = 0;       // of all that were added
  std::uint32_t open_count_ SHOAL_GUARDED_BY(mutex_) = 0;  // of the first ones
  std::unordered_map<std::uint32_t, int> numbers_ SHOAL_GUARDED_BY(mutex_);  // by signature
  std::atomic<bool> all_open_{true};                                         // written under mutex_
  // Names of the last handlers that were removed, for messages that come too late: a ring.
  std::vector<std::pair<std::uint32_t, std::string>> removed_ SHOAL_GUARDED_BY(mutex_);
  std::size_t removed_count_ SHOAL_GUARDED_BY(mutex_) = 0;
};

}  // namespace shoal::team

namespace shoal {

class Team;

namespace team {

class Messenger;
struct CoreState;
struct HoldMaker;
struct TeamTreeState;

/// Operation in which a member waits. Its text is made for reports only.
struct WaitedOperation {
  const char* name = "";     // of a collective operation; "": wait()
  std::uint64_t number = 0;  // of the operation in its team; 0: it has none
  int root = -1;             // of an operation that has one

  [[nodiscard]] bool is_wait() const { return *name == '\0'; }
  /// "barrier() (collective number 3)", "reduce() with root 1 (collective number 4)".
  [[nodiscard]] std::string text() const;
};

/// Receiver of the failure of a nested team.
enum class FailureTo : std::uint8_t {
  waiters,     // members in wait(), or the caller of end_and_take_failure()
  outer_team,  // nobody waits for the team: its failure fails the outer one, at once
};

/// Keeps wait() from completing, for threads that are not workers and will still submit tasks or
/// send messages.
class Hold {
 public:
  explicit Hold(TeamCore& team);
  /// One of the program. Reports name its maker and `place`.
  Hold(TeamCore& team, const std::source_location& place);
  ~Hold();
  Hold(Hold&& other) noexcept : team_(std::exchange(other.team_, nullptr)), maker_(other.maker_) {}
  Hold& operator=(Hold&&) = delete;

 private:
  TeamCore* team_;
  const HoldMaker* maker_ = nullptr;  // nullptr: shoal
};

/// Use of a team of this rank by code that may run beside its end: while this exists, its core
/// stays, and what is sent counts. Empty if the team has ended, or was never made here.
class TeamInUse {
 public:
  /// On a thread outside the workers it does nothing: that has a Hold.
  explicit TeamInUse(std::uint64_t team);
  /// The core; nullptr if this is empty.
  [[nodiscard]] TeamCore* core() const { return core_.get(); }

 private:
  std::shared_ptr<TeamCore> core_;
  std::optional<Hold> hold_;  // goes first
};

}  // namespace team

/// @cond internals
/// Identity of a team that is made.
struct TeamIdentity {
  std::uint64_t id = 0;       // 0: the world
  team::SharedRankMap ranks;  // nullptr: the world's
  std::string name;
  std::uint64_t number = 0;  // next_nested_number(), or 0 for a team that one rank makes
};

/// One rank's share of a team: what tasks, messages and models refer to, and what the program's
/// Team is a handle of. Its tasks and messages are counted here, in the base class.
///
/// The world is the outermost team. Another one is nested in its parent, and counts there as well:
/// its counters are part of the outer one's snapshots. The ranks exchange control messages along a
/// tree over the team, by which completion and failures are found; the state of that is in
/// src/team, one file for each job. **Caller**: any thread, where nothing else is said.
class TeamCore final : public sched::TaskScope {
 public:
  /// Makes the core of the world.
  explicit TeamCore(team::Messenger& messenger);
  ~TeamCore();
  TeamCore(const TeamCore&) = delete;
  TeamCore& operator=(const TeamCore&) = delete;

  [[nodiscard]] team::Messenger& messenger() const { return messenger_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scheduler_; }
  /// Objects that handlers of the team's messages find, for each team its own.
  [[nodiscard]] team::Services& services() { return services_; }
  /// The core of a team that a task refers to.
  [[nodiscard]] static TeamCore& of(sched::TaskScope& scope) {
    return static_cast<TeamCore&>(scope);
  }
  /// "the world", or "team 'x'".
  [[nodiscard]] std::string describe() const;

  // --- members

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] bool is_world() const { return map_ == nullptr; }
  [[nodiscard]] const team::SharedRankMap& map() const { return map_; }
  /// Rank of this rank in the team, and size of the team.
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// The team has this rank.
  [[nodiscard]] bool has(Rank member) const { return member >= 0 && member < size_; }
  /// **Errors**: CheckError when the team has no such rank, or its function gives none for it.
  [[nodiscard]] Rank to_world(Rank member) const;
  /// Returns the rank in the team of a rank of the world; negative for one that is no member.
  [[nodiscard]] Rank from_world(Rank rank) const {
    return is_world() ? rank : map_->from_world(rank);
  }
  /// Refuses a rank that the team has not. `call`: with its object, "events 'e': fire() of \"x\"".
  /// **Errors**: CheckError.
  [[noreturn]] void refuse_rank(const std::string& call, std::int64_t rank) const;

  // --- sending

  /// The link to a rank of the team, after waiting, if the caller may be suspended, until it has
  /// room. **Errors**: CheckError, naming the handler with these flag bits, for a rank that the
  /// team has not.
  template <net::Lane lane = net::Lane::normal>
  net::Link& admit(Rank target, std::uint32_t handler) {
    if constexpr (lane != net::Lane::normal) return admit_to(target, lane, handler);
    if (static_cast<unsigned>(target.value()) < static_cast<unsigned>(fast_size_)) [[likely]] {
      // acquire pairs with the release in Fabric::make_link()
      net::Link* const link = links_[net::Fabric::link_index(target, net::Lane::normal)].load(
          std::memory_order_acquire);
      // relaxed: see give_way()
      if (link != nullptr && link->may_go_on() && handlers_.all_open()) return *link;
    }
    return admit_to(target, net::Lane::normal, handler);
  }
  /// Returns the link to a rank of the team in a lane that is known at run time only; see admit().
  net::Link& admit_to(Rank target, net::Lane lane, std::uint32_t handler);
  /// Name of a handler with flag bits, as users know it.
  [[nodiscard]] std::string name_of(std::uint32_t handler) const;
  /// Refuses a target that the team has not. `what`: "message".
  [[noreturn]] void refuse_target(const char* what, std::uint32_t handler, Rank target) const;
  /// Refuses an argument of a message that is too large for a parameter of this type.
  [[noreturn]] void refuse_number(std::uint32_t handler, detail::TextValue number,
                                  std::string_view type) const;
  [[nodiscard]] bool is_local(const net::Link& link) const {
    return layout_.is_local(link.target());
  }
  /// Flag bits of the handlers of all its messages.
  [[nodiscard]] std::uint32_t flag_bits() const { return team_bit_; }
  /// Metadata of a message of the team, which is about to be appended.
  [[nodiscard]] net::MessageHeader header_of(const team::Route& route,
                                             std::size_t size_bytes) const {
    net::MessageHeader header{route.handler, route.signature, size_bytes, id_};
    // relaxed: a team that the caller knows
    if (crosses_.load(std::memory_order_relaxed)) [[unlikely]] {
      // By value: the header of a message stays in registers.
      header.sender = outside_sender(header.handler);
      if (header.sender != 0) header.handler |= net::kTeamBit;
    }
    return header;
  }
  /// The rank has teams beside the world: messages may come from tasks of other ones.
  void set_crosses(bool crosses) { crosses_.store(crosses, std::memory_order_relaxed); }
  /// Appends a counted message; see Link::append for `write`.
  template <class Write>
  SHOAL_ALWAYS_INLINE void append(net::Link& link, const net::MessageHeader& header,
                                  std::size_t extra_bytes, Write&& write,
                                  const net::RunPrefix* prefix = nullptr) {
    const int slot = scheduler_.count_slot();
    counts.message_queued(slot);
    bool closed = false;
    try {
      // relaxed: what this thread has written
      const auto polls_next = [this, slot] {
        return slot == polls_next_.load(std::memory_order_relaxed);
      };
      closed = link.append(header, extra_bytes, std::forward<Write>(write), polls_next, prefix);
    } catch (...) {  // no memory for it: it is neither queued nor to be processed
      counts.messages_processed(slot);
      throw;
    }
    // Its receiver is at work while this one fills the next packet.
    if (closed && !is_local(link)) [[unlikely]]
      flush();
  }
  void append_bytes(net::Link& link, const net::MessageHeader& header,
                    std::span<const std::byte> bytes, const net::RunPrefix* prefix = nullptr);
  void append_object(net::Link& link, net::MessageHeader header, std::size_t extra_bytes,
                     std::unique_ptr<team::ObjectMessage> object,
                     const net::RunPrefix* prefix = nullptr);
  /// Appends a message whose arguments are pieces, to a rank of another process; see
  /// Link::append_pieces().
  void append_pieces(net::Link& link, const net::MessageHeader& header,
                     std::span<const std::byte> head, std::shared_ptr<net::Pieces> pieces,
                     const net::RunPrefix* prefix = nullptr);
  /// Hands what the rank has sent so far to the transport, unless another worker is just doing it.
  void flush();
  /// A task or handler of this team sends a message that counts outside of it. Returns the id under
  /// which its handling is acknowledged; 0: the team does not wait for that.
  std::uint64_t begin_message_outside();

  // --- instance handlers

  /// Index of the new handler: the number of those made before it on this rank for this team. Main
  /// functions and tasks. One made by a main function is closed until the next open_handlers().
  std::uint32_t add_handler(std::shared_ptr<team::Handler> handler, const std::string& name,
                            const team::HandlerSource& source);
  void open_handlers();
  /// Opens the handlers of this team and of nested ones. Called by the main function, which is
  /// about to wait for what they may do.
  void open_all_handlers();
  /// Messages for it that are handled after this are errors; a handler that runs goes on.
  void remove_handler(std::uint32_t index);
  /// Removes the handlers of a receiver that is about to end, and returns when none of them runs:
  /// nothing changes the receiver any more but its own tasks. Messages to the receivers of
  /// other ranks are still sent. In a handler, which no other one of the rank runs beside, it does
  /// not wait. **Blocks**: the thread, for as long as a handler of the rank runs.
  void close_handlers(std::span<const std::uint32_t> indices);
  [[nodiscard]] const team::HandlerTable& handlers() const { return handlers_; }

  // --- nested teams

  /// Makes the core of a team on this rank, which is a member. Messages for it may have arrived
  /// before.
  [[nodiscard]] TeamCore& nest(TeamIdentity identity, team::FailureTo failure);
  /// Counts the teams that were made on this one, for names that are the same on all members.
  [[nodiscard]] std::uint64_t next_nested_number();
  /// Counts the teams that this rank has made alone.
  [[nodiscard]] std::uint64_t next_own_number();
  /// Starts to handle messages of a nested team.
  void open();
  /// Waits until all members have called it and no task or message of the team is left. A failure
  /// that was thrown on no member fails the outer team. **Caller** and **Blocks**: as wait().
  void end() noexcept;
  /// Ends the team as end() does, for a caller that waits for the team from outside: returns the
  /// failure, if there was one, and does not fail the outer team.
  [[nodiscard]] std::exception_ptr end_and_take_failure() noexcept;
  /// Gives the core up after end(). **Lifetime**: the caller must not use it afterwards.
  void release();
  /// Gives the core up without end(), as an outer team has failed. Its handle is destroyed when
  /// nothing of this team is left.
  void release(std::unique_ptr<Team> handle);

  // --- waits

  /// Returns when no task and no message of the team exists or can exist. Collective: for the
  /// world, over the main functions of all ranks; for a nested team, over its members, from main
  /// functions or tasks, one at a time on each rank. **Blocks**: suspends the caller. **Errors**:
  /// TaskError, the same on every rank, when a task or handler threw; StuckError when nothing runs
  /// any more and something still waits; CheckError for another caller.
  void wait();
  /// Calls wait_here(), a wait for something of the team that ends when the team fails, see
  /// Waitable::ending_scope(). A caller outside of the team then waits until the team's tasks on
  /// this rank have ended, which may use its stack. **Errors**: those of wait_here(); then the
  /// failure of the team, of which a main function counts as told, as by wait().
  void wait_for_part(FunctionRef<void()> wait_here);
  /// Parks the member in the collective operation `what`, until unpark_member(), unless
  /// `is_over()`, which is called once the member is parked, returns true. **Caller**, **Errors**:
  /// as wait().
  void park_member(const team::WaitedOperation& what, FunctionRef<bool()> is_over);
  /// Ends park_member(). Called by the handler of the message that completes the operation.
  void unpark_member();
  /// Throws CheckError unless the caller may wait in an operation of all members: the main
  /// function, or for a nested team also a task.
  void check_member(const char* what) const;

  // --- sources of what waits. A team that launch_team() has made of this one is one: it exists on
  // this rank, and this team does not end before. remove(): it is about to end; the caller has a
  // Hold of this team.

  void add(team::Unsatisfied& source);
  /// Removes a source that ends. If tasks may still use it, the team fails with an error that has
  /// its title; in the main function, and in a task outside the team, this returns when these tasks
  /// have ended.
  void remove(team::Unsatisfied& source) noexcept;
  void add(Team& launched);
  void remove(Team& launched);
  /// Keeps memory, whose owner has ended, until nothing of the team runs that may use it.
  void keep_until_rest(std::shared_ptr<const void> memory);
  /// Lets senders and sources look for attempts of tasks, of this team, the world, and all nested
  /// ones: see sched::Progress. **Caller**: any thread.
  void begin_attempts();
  /// Returns whether task graphs record the tasks that ran, to check that each runs once.
  [[nodiscard]] bool checks_graphs() const;

  // --- failure

  /// A task, a handler or an object of the team failed: cancels what waits, and tells all members.
  void fail(const std::string& task_name, const std::exception_ptr& error);
  /// Fails the team with an error that names it and the reason.
  void cancel(const std::string& reason);
  /// Returns the failure that all ranks got, if there was one.
  [[nodiscard]] std::optional<TaskError> failure() const;
  /// Fails all promises of a nested team that has failed, as tasks of outer teams may wait for
  /// them. Called again when such a promise is made afterwards.
  void give_up_promises();

  // --- counts and reports

  /// Returns the counts of this team and of all teams nested in it.
  [[nodiscard]] Totals all_totals() const;
  /// Returns the state of the team for reports. It calls the functions of graphs that name tasks.
  [[nodiscard]] team::TeamTreeState state() const;

  // --- the world's

  /// Called when the main function has ended: takes part in waits until the main functions of all
  /// ranks have ended. **Errors**: as wait(), for work that was still in progress; but no TaskError
  /// that this rank's main function already got.
  void wait_for_end();
  /// Called when the main function has thrown, before its stack unwinds: fails the world, unless it
  /// has failed, and returns when no task and no message exists that may use that stack. Holds of
  /// this rank do not count: the objects that end them may be on that stack. **Caller**: main
  /// function. **Blocks**: suspends it, until every main function is parked.
  void end_before_unwinding(FunctionRef<std::string()> text);
  /// The main function has thrown std::bad_alloc, perhaps with a lock of shoal held that the tasks
  /// need which end_before_unwinding() would wait for: ends the process, with that text.
  void end_without_memory(FunctionRef<std::string()> text) noexcept;
  /// The workers have stopped. True: objects of the program refer to this team, and will end later.
  /// Their calls, except for destructors, throw from now on.
  [[nodiscard]] bool end_run();
  /// Sets checks_graphs(), before the first task graph is made.
  void set_checks_graphs(bool checks);
  /// Called on the root when detection has found the world complete or stuck, before any rank
  /// learns of it. Set before the first step; may throw nothing.
  void set_completion_check(Function<void()> check);
  /// Returns whether teams were made on this rank.
  [[nodiscard]] bool had_nested() const;

 private:
  friend struct team::CoreState;

  TeamCore(team::Messenger& messenger, TeamCore* outer, TeamIdentity identity);
  /// Counts the message in the team of the calling task, if that is another one. Its id, or 0.
  [[nodiscard]] std::uint64_t outside_sender(std::uint32_t handler) const;
  void give_way(const net::Link& link);

  team::Messenger& messenger_;
  sched::Scheduler& scheduler_;
  const std::uint64_t id_;
  const team::SharedRankMap map_;
  const int size_;
  const Rank rank_;
  const std::uint32_t team_bit_;
  const int fast_size_;  // ranks below are the world's, and have their link in links_
  const std::atomic<net::Link*>* const links_;  // of this rank: Fabric::links_of()
  const net::Layout& layout_;
  std::atomic<bool> crosses_;
  const std::atomic<int>& polls_next_;  // see Messenger::polls_next()
  bool run_has_ended_ = false;          // written when the workers have stopped
  team::HandlerTable handlers_;
  team::Services services_;
  const std::unique_ptr<team::CoreState> state_;
};
/// @endcond

/// @cond internals
/// Returns the core of a team, to which what is made on the team refers. **Errors**: CheckError for
/// a rank that is no member.
[[nodiscard]] TeamCore& core_of(const Team& team);
/// @endcond

}  // namespace shoal
