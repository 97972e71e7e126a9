#include <shoal/detail/object/objects.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/attempt.hpp>
#include <shoal/external_thread.hpp>
#include <shoal/key.hpp>

#include <fmt/format.h>

#include "object/outside.hpp"
#include "object/share.hpp"
#include "team/messenger.hpp"

#include <algorithm>
#include <utility>

namespace shoal::object {

namespace {

/// Service of a team's core. Representatives that outlive the team keep the table.
class Service {
 public:
  Service(Team& team, std::shared_ptr<Turn> turn)
      : objects_(std::make_shared<Objects>(team, std::move(turn), Forwards::take(team.core()))) {}
  ~Service() { objects_->close(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  [[nodiscard]] Objects& objects() const { return *objects_; }

 private:
  const std::shared_ptr<Objects> objects_;
};

}  // namespace

// Each bit depends on all ranks of the chain and on their order.
std::uint64_t context_on(std::uint64_t parent, Rank to) {
  return detail::mix64(parent + (static_cast<std::uint64_t>(to.value()) + 1) * 0x9e3779b97f4a7c15U);
}

void Caller::set_receiver(Rank to) {
  context_there_ = object::context_on(context_, to);
  to_ = to;
}

Objects::Objects(Team& team, std::shared_ptr<Turn> turn, std::uint64_t forwarded)
    : team_(team),
      core_(team.core()),
      share_(std::make_shared<Share>(*this, team.core(), std::move(turn), &Runner::make)) {
  if (forwarded > 0) share_->begin_forwarded(forwarded);
  share_->turn()->add(*share_);
}

Objects::~Objects() = default;

// Representatives of construct() that nobody has deleted refer to this, which holds them. A section
// has no part in the turns of the rank from then on, if it is in no other team's.
void Objects::close() {
  const auto dropped = std::exchange(owned_, {});
  share_->close();
  share_->turn()->remove(*share_);
  if (Caller* const caller = Caller::find(); caller != nullptr) caller->leave_closed();
}

Objects& Objects::of(Team& team) { return of(team.core()); }

Objects& Objects::of(TeamCore& core) {
  if (const Service* const service = core.services().find<Service>(); service != nullptr) {
    return service->objects();
  }
  Team& team = core.services().get<Team>();
  std::shared_ptr<Turn> turn = Turn::of(core);
  return core.services()
      .obtain<Service>([&] { return std::make_unique<Service>(team, std::move(turn)); })
      .objects();
}

// The core of a team outlives it, until no rank uses it.
bool has_ended(TeamCore& core) { return core.id() != 0 && core.services().find<Team>() == nullptr; }

Objects* Objects::find(std::uint64_t team, const char* what) {
  const auto& world =
      static_cast<const TeamCore&>(sched::current_scheduler(what, sched::kUseInTask).scope());
  TeamCore* const core = team == 0 ? &world.messenger().world() : world.messenger().find_core(team);
  if (core == nullptr || has_ended(*core)) return nullptr;
  return &of(*core);
}

// --- representatives

Address Objects::add(void* representative, const ObjectClass& registered,
                     std::atomic<std::uint32_t>& epoch) {
  sched::refuse_in_attempt("making a distributed object");
  const sched::Task* const task = sched::current_task();
  Caller* const caller = Caller::find();
  if (task == nullptr || (caller != nullptr && caller->is_runner())) {
    throw CheckError(fmt::format(
        "a distributed object ({}) was made in {}: all members make it, in their main functions or "
        "in one task each",
        class_name(registered),
        task == nullptr ? "a handler, or on a thread of its own" : "an invocation"));
  }
  static_cast<void>(caller_context());
  Caller::find()->enter(share_);
  const std::uint32_t number = share_->add(representative, registered, epoch);
  return {core_.id(), number, core_.to_world(Rank(0)).value(), core_.size(),
          epoch.load(std::memory_order_relaxed)};
}

void Objects::move(const Address& address, void* representative) {
  share_->move(address.number, representative);
}

void Objects::remove(const Address& address) noexcept { share_->remove(address.number); }

void* Objects::find(std::uint32_t number, const ObjectClass& wanted) const {
  return share_->find(number, wanted);
}

void* Objects::get(const Address& address, const ObjectClass& wanted) const {
  void* const representative = find(address.number, wanted);
  if (representative == nullptr) throw CheckError(describe_missing(address.number));
  return representative;
}

std::string Objects::describe_missing(std::uint32_t number) const {
  return share_->describe_missing(number);
}

std::string Objects::name_of(std::uint32_t number) const { return share_->name_of(number); }

std::string Objects::name_of(const Invocation& invocation) const {
  return fmt::format("{} of {}", method_of(invocation), name_of(invocation.target().number));
}

void Objects::keep(const Address& address, std::unique_ptr<Owned> representative) {
  owned_[address.number] = std::move(representative);
}

// The dropped object may hold the last share of the team: nothing of this is used afterwards.
bool Objects::drop(const Address& address) {
  const auto it = owned_.find(address.number);
  if (it == owned_.end()) return false;
  const std::unique_ptr<Owned> dropped = std::move(it->second);
  owned_.erase(it);
  return true;
}

void Objects::advance_epoch(std::uint32_t number) { share_->advance_epoch(number); }

// --- invocations

std::uint64_t Objects::fresh_context() { return share_->fresh_context(); }

// Handlers of a rank run one at a time, in one context; so do threads outside the workers. It is
// not 0 on any rank: 0 is the context without an order.
std::uint64_t Objects::caller_context() {
  if (Caller* const caller = Caller::find(); caller != nullptr) return caller->context();
  auto* const task = sched::current_task();
  if (task == nullptr) return static_cast<std::uint64_t>(core_.rank().value()) + 1;
  task->add_local(std::make_unique<Caller>(fresh_context()));
  return task->find_local<Caller>()->context();
}

// The fast way, of a task that has invoked before, has no calls but one.
Target Objects::target(std::uint32_t number, Rank to, Order order) {
  sched::Task* const task = sched::current_task();
  if (task == nullptr || (task->scope != nullptr && task->scope != &core_)) [[unlikely]]
    if (is_crossed()) return {};
  Caller* const caller = task != nullptr ? task->find_local<Caller>() : nullptr;
  if (caller == nullptr || !caller->knows_epoch_in(*share_)) [[unlikely]] {
    if (!share_->is_direct()) return {};
    if (caller == nullptr) {
      const std::uint64_t context = order == Order::none ? 0 : context_on(caller_context(), to);
      return {context, number, caller_epoch()};
    }
    caller->find_epoch(*share_);
  }
  if (order == Order::none) return {0, number, caller->known_epoch()};
  return {caller->context_on(to), number, caller->known_epoch()};
}

Target Objects::target_in(std::uint64_t context, std::uint32_t number, Rank to, std::uint32_t epoch,
                          bool follows) const {
  return {context_on(context, to), number, follows ? std::max(epoch, share_->epoch()) : epoch};
}

bool Objects::caller_follows() const {
  const Caller* const caller = Caller::find();
  return caller != nullptr ? caller->is_section_of(*share_) : !sched::on_worker();
}

// A handler is code of no rank's section: a message has no epoch.
std::uint32_t Objects::caller_epoch() const {
  if (Caller* const caller = Caller::find(); caller != nullptr) return caller->epoch_in(*share_);
  return sched::on_worker() ? 0 : share_->epoch();
}

void Objects::accept(std::unique_ptr<Invocation> invocation, Arrived* outside) {
  if (outside != nullptr) [[unlikely]]
    invocation = acknowledged(std::move(invocation), std::move(*outside), core_.messenger());
  share_->accept(std::move(invocation));
}

bool Objects::is_crossed() const {
  const sched::TaskScope* const sender = sched::current_scope();
  return sender != nullptr && !core_.is_within(*sender);
}

bool Objects::forward() { return !share_->is_direct() && share_->forward(); }
void Objects::forward_arrived() { share_->forward_arrived(); }

void Objects::set_draining(bool draining) { share_->set_draining(draining); }

// --- fences of external threads

void Objects::add_fence(std::optional<Hold>& place, Promise<void> passed) {
  const sync::Lock lock(fences_mutex_);
  fences_.push_back({&place, std::move(passed)});
}

void Objects::pass_fences(const std::exception_ptr& error) {
  std::vector<ExternalFence> all;
  {
    const sync::Lock lock(fences_mutex_);
    all.swap(fences_);
  }
  for (ExternalFence& fence : all) {
    fence.place->emplace(core_);
    if (error == nullptr) {
      fence.passed.set_value();
    } else {
      fence.passed.set_exception(error);
    }
  }
}

void Objects::open_tunnel(std::uint64_t context, std::unique_ptr<Owned> end) {
  tunnels_[context] = std::move(end);
}

void Objects::close_tunnel(std::uint64_t context) { tunnels_.erase(context); }

const Owned& Objects::tunnel(std::uint64_t context) const {
  const auto it = tunnels_.find(context);
  SHOAL_CHECK(it != tunnels_.end(), "an invocation came to {} through a tunnel that is not open",
              core_.describe());
  return *it->second;
}

void Objects::fail(const std::string& name, const std::exception_ptr& error) {
  core_.fail(name, error);
}

}  // namespace shoal::object

namespace shoal {

ExternalThread::ExternalThread(Team& team) : team_(team) {
  sched::check_thread(team.core().scheduler(), "ExternalThread");
  hold_.emplace(team.hold());
}

// Until the promise is in the list, the team's wait() does not complete, because of the hold.
void ExternalThread::fence() {
  Promise<void> passed(team_.core().scheduler(), "fence() of an external thread");
  Future<void> future = passed.future();
  object::Objects::of(team_).add_fence(hold_, std::move(passed));
  hold_.reset();
  future.get();
}

std::vector<Rank> external_callers(const Team& team) {
  const net::Layout& layout = team.core().messenger().fabric().layout();
  std::vector<Rank> callers;
  std::vector<bool> has_caller(static_cast<std::size_t>(layout.process_count()));
  for (int rank = 0; rank < team.size(); ++rank) {
    const auto process = static_cast<std::size_t>(layout.process_of(team.world_rank(Rank(rank))));
    if (!has_caller[process]) callers.emplace_back(rank);
    has_caller[process] = true;
  }
  return callers;
}

}  // namespace shoal
