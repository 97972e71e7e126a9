#include <shoal/detail/team/core.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/sched/handler_mark.hpp>
#include <shoal/detail/sched/park.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/trace/probes.hpp>
#include <shoal/team.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "team/core_state.hpp"
#include "team/messenger.hpp"
#include "team/team_state.hpp"
#include "team/unexpected_messages.hpp"

namespace shoal {

namespace {

void tell_of_attempts(const team::CoreState& core) {
  {
    const sync::Lock lock(core.mutex);
    core.sources.tell_of_attempts();
  }
  for (const auto& inner : team::nested_in(core)) tell_of_attempts(*inner);
}

}  // namespace

// --- construction

TeamCore::TeamCore(team::Messenger& messenger)
    : TeamCore(messenger, nullptr, {0, nullptr, "the world", 0}) {
  messenger.add(*this);
  scheduler_.set_scope(*this);
}

TeamCore::TeamCore(team::Messenger& messenger, TeamCore* outer, TeamIdentity identity)
    : TaskScope(messenger.rank(), messenger.scheduler().worker_count(), outer, identity.id),
      messenger_(messenger),
      scheduler_(messenger.scheduler()),
      id_(identity.id),
      map_(std::move(identity.ranks)),
      size_(is_world() ? messenger.size() : map_->size()),
      rank_(from_world(messenger.rank())),
      team_bit_(is_world() ? 0 : net::kTeamBit),
      fast_size_(is_world() ? size_ : 0),
      links_(messenger.fabric().links_of(messenger.rank())),
      layout_(messenger.fabric().layout()),
      crosses_(!is_world()),
      polls_next_(messenger.polls_next()),
      state_(std::make_unique<team::CoreState>(*this,
                                               outer != nullptr ? outer->state_.get() : nullptr,
                                               std::move(identity.name), identity.number)) {
  handlers_.set_numbered(state_->checks_graphs);
}

TeamCore::~TeamCore() {
  std::unique_ptr<Team> handle;
  std::vector<Team*> launched;  // of a rank that has ended, after an error that named them
  {
    const sync::Lock lock(state_->mutex);
    handle = std::move(state_->handle);
    launched = state_->sources.take_launched_teams();
  }
  for (Team* const team : launched) team->drop_parts();
  if (handle != nullptr) handle->drop_parts();
  if (is_world()) services_.clear();  // they may use this
  messenger_.remove(*this);
}

std::string TeamCore::describe() const { return state_->describe(); }

// --- members

Rank TeamCore::to_world(Rank member) const {
  if (is_world()) return member;
  SHOAL_CHECK(has(member), "rank {} is out of range: the team has ranks 0 to {}", member.value(),
              size_ - 1);
  const Rank rank = map_->to_world(member);
  SHOAL_CHECK(
      rank >= 0 && rank < messenger_.size(),
      "rank {} of a team is rank {} of the world, by the function that was given: there are "
      "ranks 0 to {}",
      member.value(), rank.value(), messenger_.size() - 1);
  return rank;
}

void TeamCore::refuse_rank(const std::string& call, std::int64_t rank) const {
  detail::refuse_rank(call, rank, messenger_.rank(), describe(), size_);
}

// --- sending

namespace {

/// A sender that waits for room.
class WaitingSender {
 public:
  explicit WaitingSender(team::UnexpectedMessages& unexpected) : unexpected_(unexpected) {
    tell(true);
  }
  ~WaitingSender() { tell(false); }
  WaitingSender(const WaitingSender&) = delete;
  WaitingSender& operator=(const WaitingSender&) = delete;

 private:
  void tell(bool begins) {
    unexpected_.sender_waits(begins);
    if (const sched::Task* const task = sched::current_task(); task != nullptr)
      task->tell_waits_for_room(begins);
  }

  team::UnexpectedMessages& unexpected_;
  const sched::ParkedSenderMark mark_;
};

}  // namespace

// A message that a task of another team sends counts in this team, and the other team waits until
// it is handled. If the other team is an outer one, the message counts there as well.
std::uint64_t TeamCore::outside_sender(std::uint32_t handler) const {
  sched::TaskScope* const sender = sched::current_scope();
  if (sender == nullptr || is_within(*sender) || (handler & team::kLargeBit) != 0) return 0;
  return of(*sender).begin_message_outside();
}

// Messages into another team count there, and acknowledgements in the world, which is not quiescent
// while one is in flight. In this team, a message that is not acknowledged is a thing that waits.
std::uint64_t TeamCore::begin_message_outside() {
  if (is_world()) return 0;
  state_->outside.count_sent();
  return id_;
}

std::string TeamCore::name_of(std::uint32_t handler) const {
  const std::uint32_t index = handler & team::kIndexMask;
  return (handler & team::kInstanceBit) != 0 ? handlers_.name_of(index)
                                             : team::static_handlers()[index].name;
}

[[gnu::noinline]] void TeamCore::refuse_target(const char* what, std::uint32_t handler,
                                               Rank target) const {
  SHOAL_CHECK(!run_has_ended_,
              "a {} for '{}' is sent after its run() has returned: make the handler anew in the "
              "main function of each run",
              what, name_of(handler));
  refuse_rank(fmt::format("{} for '{}'", what, name_of(handler)), target.value());
}

[[gnu::noinline]] void TeamCore::refuse_number(std::uint32_t handler, detail::TextValue number,
                                               std::string_view type) const {
  detail::refuse_number(
      fmt::format("message for '{}', on rank {}", name_of(handler), messenger_.rank().value()),
      number, type);
}

net::Link& TeamCore::admit_to(Rank target, net::Lane lane, std::uint32_t handler) {
  if (run_has_ended_ || !has(target)) [[unlikely]]
    refuse_target("message", handler, target);
  if (!handlers_.all_open() && sched::in_main_function()) open_handlers();
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]] {
    if ((handler & team::kLargeBit) != 0)
      attempt->refuse(fmt::format("a payload for '{}'", name_of(handler)));
    return team::withheld_link(*attempt, *this, target, lane);
  }
  const Rank world_rank = to_world(target);
  net::Link& link = messenger_.link_to(world_rank, lane);
  if (link.has_room()) {
    give_way(link);
    return link;
  }
  if (sched::in_handler()) return link;
  // A task made from a message is not suspended either, as messages that wait for it may fill the
  // window for which it would wait. Its messages are queued, like those of a handler.
  if (scheduler_.count_slot() != counts.foreign_slot() && !sched::in_suspendable_task()) {
    return link;
  }
  const WaitingSender waiting(messenger_.unexpected());
  const std::string what = fmt::format("send() to rank {}", world_rank.value());
  const auto peer = static_cast<std::uint32_t>(world_rank.value());
  trace::window_full(peer);
  while (!link.has_room()) {
    sched::block(scheduler_.env(), what.c_str(),
                 [&link](sync::Waiter& waiter) { return link.enlist(waiter); });
  }
  trace::window_open(peer);
  return link;
}

// The window bounds the messages that this rank sends, but not the answers of other ranks'
// handlers. To bound these, a task that sends lets its worker handle arrivals at least this often.
void TeamCore::give_way(const net::Link& link) {
  if (link.message_count() % net::Link::kSendsPerLook != 0) return;  // any sparse choice will do
  if (!messenger_.looks_busy() || !sched::in_suspendable_task()) return;
  sched::block(scheduler_.env(), "send()", [](sync::Waiter& waiter) {
    waiter.wake();  // the worker looks at its arrivals, then goes on here
    return true;
  });
}

void TeamCore::append_bytes(net::Link& link, const net::MessageHeader& header,
                            std::span<const std::byte> bytes, const net::RunPrefix* prefix) {
  const auto write = [bytes](std::span<std::byte> place) {
    if (!bytes.empty()) std::memcpy(place.data(), bytes.data(), bytes.size());
  };
  append(link, header, 0, write, prefix);
}

void TeamCore::append_object(net::Link& link, net::MessageHeader header, std::size_t extra_bytes,
                             std::unique_ptr<team::ObjectMessage> object,
                             const net::RunPrefix* prefix) {
  header.handler |= team::kObjectBit;
  header.size_bytes = sizeof(std::uintptr_t);
  const auto write = [&object](std::span<std::byte> place) {
    const auto raw = reinterpret_cast<std::uintptr_t>(object.release());
    std::memcpy(place.data(), &raw, sizeof raw);
  };
  append(link, header, extra_bytes, write, prefix);
}

void TeamCore::append_pieces(net::Link& link, const net::MessageHeader& header,
                             std::span<const std::byte> head, std::shared_ptr<net::Pieces> pieces,
                             const net::RunPrefix* prefix) {
  if (messenger_.checks_payloads() && pieces->checked == 0) pieces->add_checksum();
  const int slot = scheduler_.count_slot();
  counts.message_queued(slot);
  try {
    // relaxed: what this thread has written
    const bool polls_next = slot == polls_next_.load(std::memory_order_relaxed);
    link.append_pieces(header, head, std::move(pieces), prefix, polls_next);
  } catch (...) {
    counts.messages_processed(slot);
    throw;
  }
}

void TeamCore::flush() { messenger_.flush(); }

// --- instance handlers

std::uint32_t TeamCore::add_handler(std::shared_ptr<team::Handler> handler, const std::string& name,
                                    const team::HandlerSource& source) {
  if (sched::Attempt* const attempt = sched::current_attempt()) [[unlikely]]
    attempt->refuse(name.empty() ? "making an active message" : fmt::format("making '{}'", name));
  const team::HandlerTable::Added added =
      handlers_.add(std::move(handler), name, source, sched::in_main_function());
  if (!added.opened) return added.index;
  sync::publish(&messenger_);
  messenger_.retry_unexpected();
  return added.index;
}

void TeamCore::open_handlers() {
  if (!handlers_.open_all()) return;
  sync::publish(&messenger_);
  messenger_.retry_unexpected();
}

void TeamCore::open_all_handlers() {
  if (!handlers_.all_open()) open_handlers();
  for (const auto& inner : team::nested_in(*state_)) inner->team.open_all_handlers();
}

void TeamCore::remove_handler(std::uint32_t index) {
  if (const auto removed = handlers_.remove(index)) messenger_.reclaim(removed);
}

void TeamCore::close_handlers(std::span<const std::uint32_t> indices) {
  for (const std::uint32_t index : indices) remove_handler(index);
  if (!indices.empty() && !sched::in_handler()) messenger_.await_reclaimed();
}

// --- nested teams

TeamCore& TeamCore::nest(TeamIdentity identity, team::FailureTo failure) {
  const std::shared_ptr<TeamCore> core(new TeamCore(messenger_, this, std::move(identity)));
  core->state_->failure_to = failure;
  team::TeamDirectory& teams = state_->teams;
  teams.had_nested.store(true, std::memory_order_release);
  const sync::Lock lock(teams.mutex);
  state_->nested.emplace_back(core, core->state_.get());
  state_->nested_count.store(state_->nested.size(), std::memory_order_release);
  messenger_.set_has_teams(true);
  return *core;
}

std::uint64_t TeamCore::next_nested_number() { return ++state_->nested_numbers; }
std::uint64_t TeamCore::next_own_number() { return ++state_->teams.own_numbers; }

void TeamCore::open() { open_core(*state_); }

// Called by destructors, so it does not throw: errors fail the outer team.
void TeamCore::end() noexcept {
  if (state_->world.run_has_ended.load(std::memory_order_acquire)) return;
  try {
    wait_until_ended(*state_);
    if (failed()) pass_failure_outwards(*state_);
  } catch (const CancelledError&) {  // the outer team has failed, which others are told
  } catch (const TaskError&) {       // likewise
  } catch (...) {
    state_->outer->team.fail("the end of " + describe(), std::current_exception());
  }
}

std::exception_ptr TeamCore::end_and_take_failure() noexcept {
  try {
    state_->failure_told = true;
    wait_until_ended(*state_);
    return failed() ? std::make_exception_ptr(TaskError(*failure())) : nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void TeamCore::release() {
  sched::Scheduler& scheduler = scheduler_;
  {
    const sync::Lock lock(state_->mutex);
    state_->member.release();
  }
  // From here on another worker may destroy this.
  scheduler.look_again();
}

void TeamCore::release(std::unique_ptr<Team> handle) {
  {
    const sync::Lock lock(state_->mutex);
    state_->handle = std::move(handle);
  }
  release();
}

// --- waits

namespace {

void check_main(const char* what) {
  sched::check_may_wait(what);
  SHOAL_CHECK(sched::in_main_function(),
              "{} was called in a task or a thread of its own; call it in the main function", what);
}

}  // namespace

void TeamCore::check_member(const char* what) const {
  if (is_world()) return check_main(what);
  if (sched::in_handler()) sched::refuse_in_handler(fmt::format("{} of {}", what, describe()));
  SHOAL_CHECK(
      sched::in_suspendable_task(),
      "{} of {} was called on a thread of its own, or in a task made from a message; call it "
      "in the main function or a task that it has spawned",
      what, describe());
}

void TeamCore::wait() {
  check_member("wait()");
  if (!is_world()) return meet(*state_, {}, [] { return false; });
  throw_outcome(*state_, wait_in_operation(*state_, {}, false, [] {}));
}

void TeamCore::wait_for_part(FunctionRef<void()> wait_here) {
  try {
    return wait_here();
  } catch (const CancelledError&) {
    const sched::Task* const task = sched::current_task();
    const TaskScope* const own = task != nullptr ? task->scope : nullptr;
    const bool is_outside = task != nullptr && (own == nullptr || !own->is_within(*this));
    if (is_world() || !failed() || !is_outside) throw;
  }
  team::leave_failed(*state_);  // not in the handler of the exception: it waits
}

void TeamCore::park_member(const team::WaitedOperation& what, FunctionRef<bool()> is_over) {
  check_member(what.name);
  if (!is_world()) return meet(*state_, what, is_over);
  throw_outcome(*state_, wait_in_operation(*state_, what, false, [&] {
    if (is_over()) unpark_member();
  }));
}

void TeamCore::unpark_member() {
  {
    const sync::Lock lock(state_->mutex);
    finish_park(*state_, team::Outcome::done);
  }
  wake_waiter(*state_);
}

// --- sources of what waits

// Either the walk of begin_attempts() comes to it, or this sees the flag.
void TeamCore::add(team::Unsatisfied& source) {
  {
    const sync::Lock lock(state_->mutex);
    state_->sources.add(source);
  }
  if (state_->world.has_attempts.load(std::memory_order_seq_cst)) source.attempts_begin();
}

void TeamCore::begin_attempts() {
  handlers_.ask_always();
  state_->has_attempts.store(true, std::memory_order_seq_cst);
  tell_of_attempts(*state_);
}

void TeamCore::remove(team::Unsatisfied& source) noexcept {
  source.close_handlers();  // else a message could arrive behind the look
  if (source.is_in_use()) end_use(*state_, source);
  const sync::Lock lock(state_->mutex);
  state_->sources.remove(source);
}

void TeamCore::keep_until_rest(std::shared_ptr<const void> memory) {
  const sync::Lock lock(state_->mutex);
  state_->sources.keep(std::move(memory));
}

void TeamCore::add(Team& launched) {
  const sync::Lock lock(state_->mutex);
  state_->sources.add(launched);
}

void TeamCore::remove(Team& launched) {
  const sync::Lock lock(state_->mutex);
  state_->sources.remove(launched);
}

bool TeamCore::checks_graphs() const { return state_->checks_graphs; }

// --- failure

void TeamCore::fail(const std::string& task_name, const std::exception_ptr& error) {
  fail_with(*state_, task_name, [&error] { return shoal::describe(error); });
}

void TeamCore::cancel(const std::string& reason) {
  fail(TaskError::kCancellation,
       std::make_exception_ptr(Error(fmt::format("{}: {}", describe(), reason))));
}

std::optional<TaskError> TeamCore::failure() const { return failure_of(*state_); }

void TeamCore::give_up_promises() { team::give_up_promises(*state_); }

// --- counts and reports

sched::TaskScope::Totals TeamCore::all_totals() const { return team::all_totals(*state_); }

team::TeamTreeState TeamCore::state() const { return state_of(*state_); }

// --- the world's

void TeamCore::set_checks_graphs(bool checks) {
  state_->checks_graphs = checks;
  handlers_.set_numbered(checks);
}

void TeamCore::set_completion_check(Function<void()> check) {
  state_->completion_check = std::move(check);
}

bool TeamCore::had_nested() const {
  return state_->teams.had_nested.load(std::memory_order_acquire);
}

void TeamCore::wait_for_end() { team::wait_for_end(*state_); }

void TeamCore::end_before_unwinding(FunctionRef<std::string()> text) {
  end_all(*state_, text, "its unwinding, after the end of all tasks that may use its stack");
}

void TeamCore::end_without_memory(FunctionRef<std::string()> text) noexcept {
  std::string all;
  try {
    all = fmt::format(
        "rank {}: the main function failed: {}; the process ends at once, since shoal may have "
        "been "
        "in the middle of a change: ask for less memory, or catch this in the main function",
        rank_.value(), text());
  } catch (...) {  // there is no memory for that
    messenger_.end_at_once(state_->out_of_memory);
  }
  messenger_.end_at_once(all);
}

bool TeamCore::end_run() {
  state_->run_has_ended.store(true, std::memory_order_release);
  run_has_ended_ = true;
  handlers_.close();
  bool is_used = handlers_.live_count() > 0;
  {
    const sync::Lock lock(state_->mutex);
    is_used = state_->sources.tell_of_end() || is_used;
  }
  return is_used || !nested_in(*state_).empty();
}

namespace team {

// A Hold counts as a task, except while its thread is in wait_for().
Hold::Hold(TeamCore& team) : team_(&team) { team.thread_goes_on(team.scheduler()); }

Hold::Hold(TeamCore& team, const std::source_location& place) : Hold(team) {
  sched::refuse_in_attempt("hold()");
  HoldMaker maker{sched::current_activity(), sched::in_main_function()};
  if (maker.text.empty()) maker.text = "a thread of the program";
  maker.text += fmt::format(", at {}", naming::to_text(place));
  CoreState& state = CoreState::of(team);
  const sync::Lock lock(state.holds_mutex);
  const auto found = state.hold_makers.try_emplace(std::move(maker)).first;
  ++found->second;
  maker_ = &found->first;
}

Hold::~Hold() {
  if (team_ == nullptr) return;
  if (maker_ != nullptr) {
    CoreState& state = CoreState::of(*team_);
    const sync::Lock lock(state.holds_mutex);
    const auto found = state.hold_makers.find(*maker_);
    if (--found->second == 0) state.hold_makers.erase(found);
  }
  team_->thread_parks(team_->scheduler());
}

// --- the state

namespace {

constexpr std::size_t kReserveBytes = 64UL << 10U;

}  // namespace

CoreState::CoreState(TeamCore& of, CoreState* outer_one, std::string called, std::uint64_t numbered)
    : team(of),
      outer(outer_one),
      world(outer == nullptr ? *this : outer->world),
      name(std::move(called)),
      number(numbered),
      first(of.to_world(Rank(0))),
      tree{of.rank(), of.size()},
      children(tree.children()),
      control(control_handlers()),
      checks_graphs(outer != nullptr && outer->checks_graphs),
      detector_host(make_detector_host(*this)),
      detector(tree, *detector_host),
      reserve(outer == nullptr ? std::make_unique_for_overwrite<std::byte[]>(kReserveBytes)
                               : nullptr),
      out_of_memory(
          outer != nullptr
              ? outer->out_of_memory
              : fmt::format("rank {}: a task, a handler or the main function failed, and no "
                            "memory is left to report more or to end in order",
                            of.messenger().rank().value())),
      own_directory(outer == nullptr ? std::make_unique<TeamDirectory>() : nullptr),
      teams(outer == nullptr ? *own_directory : outer->teams) {}

CoreState::~CoreState() = default;

std::string CoreState::describe() const { return is_world() ? name : "team '" + name + "'"; }

std::vector<std::shared_ptr<CoreState>> nested_in(const CoreState& core) {
  if (core.nested_count.load(std::memory_order_acquire) == 0) return {};
  const sync::Lock lock(core.teams.mutex);
  return core.nested;
}

std::shared_ptr<CoreState> nested_at(const CoreState& core, std::size_t index) {
  if (index >= core.nested_count.load(std::memory_order_acquire)) return nullptr;
  const sync::Lock lock(core.teams.mutex);
  return index < core.nested.size() ? core.nested[index] : nullptr;
}

namespace {

// One that was made lately, mostly.
std::shared_ptr<CoreState> find_owner(const CoreState& core) SHOAL_REQUIRES(core.teams.mutex) {
  const std::vector<std::shared_ptr<CoreState>>& all = core.outer->nested;
  return *std::find_if(all.rbegin(), all.rend(),
                       [&core](const auto& one) { return one.get() == &core; });
}

}  // namespace

std::shared_ptr<CoreState> find_core(CoreState& world, std::uint64_t team) {
  if (team == 0) return {std::shared_ptr<CoreState>(), &world};
  TeamDirectory& teams = world.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = teams.cores.find(team);
  return it != teams.cores.end() ? it->second : nullptr;
}

void enter_directory(const CoreState& core) {
  const sync::Lock lock(core.teams.mutex);
  core.teams.cores.emplace(core.team.id(), find_owner(core));
}

namespace {

// A member that is taken out may send until it has unwound: outer teams count these messages, and
// other members drop them, or ask this team. They have ended when the outer one does.
bool is_complete_for_good(const CoreState& core) {
  if (core.all_final.load(std::memory_order_acquire)) return true;
  if (!core.abandoned.load(std::memory_order_acquire)) return false;
  return core.outer->is_world() || is_complete_for_good(*core.outer);
}

}  // namespace

bool has_ended(const CoreState& core) {
  if (!is_complete_for_good(core) || !nested_in(core).empty()) return false;
  const bool has_handlers = core.team.handlers().live_count() > 0;
  const sync::Lock lock(core.mutex);
  return core.member.is_released() &&
         (core.handle != nullptr || (core.sources.empty() && !has_handlers));
}

// Code of other teams may use one that is complete: see TeamInUse. Invocations may arrive, too, and
// find their object gone. So the team leaves both tables first, where no new user finds it. Then
// its users end: Holds, tasks, and the worker that handles messages, which counts them last.
bool sweep(const std::shared_ptr<CoreState>& ended) {
  CoreState& outer = *ended->outer;
  TeamDirectory& teams = outer.teams;
  const sync::Lock lock(teams.mutex);
  const auto it = std::find(outer.nested.begin(), outer.nested.end(), ended);
  if (it == outer.nested.end()) return true;  // another worker was first
  if (std::exchange(ended->is_listed, false)) {
    teams.cores.erase(ended->team.id());
    outer.messenger().remove(ended->team);
  }
  if (!outer.messenger().rests()) return false;
  const Totals own = ended->team.counts.totals();
  if (ended->all_final.load(std::memory_order_acquire) && own.created != own.finished) return false;
  outer.nested.erase(it);
  outer.nested_count.store(outer.nested.size(), std::memory_order_release);
  if (outer.world.nested.empty()) outer.messenger().set_has_teams(false);
  Totals& sum = outer.left_behind;
  sum.created += own.created + ended->left_behind.created;
  sum.finished += own.finished + ended->left_behind.finished;
  sum.queued += own.queued + ended->left_behind.queued;
  sum.processed += own.processed + ended->left_behind.processed;
  outer.outside.take_over(ended->outside);
  return true;
}

namespace {

TeamCore& world_of_caller() {
  auto& scheduler = sched::current_scheduler("a handle", sched::kUseInTask);
  return static_cast<TeamCore&>(scheduler.scope());
}

}  // namespace

// Under the lock of the directory, as sweep(): that sees the Hold, or this does not find the team.
TeamInUse::TeamInUse(std::uint64_t team) {
  if (team == 0 || !sched::on_worker()) return;  // the world lasts; so do teams of threads
  TeamCore& world = world_of_caller();
  const CoreState& outermost = CoreState::of(world);
  const sync::Lock lock(outermost.teams.mutex);
  TeamCore* const found = world.messenger().find_core(team);
  if (found == nullptr) return;
  const std::shared_ptr<CoreState> state = find_owner(CoreState::of(*found));
  core_ = std::shared_ptr<TeamCore>(state, found);
  hold_.emplace(*found);
}

std::string WaitedOperation::text() const {
  if (is_wait()) return "wait()";
  if (number == 0) return name;
  return fmt::format("{}{} (collective number {})", name,
                     root < 0 ? "" : fmt::format(" with root {}", root), number);
}

}  // namespace team
}  // namespace shoal
