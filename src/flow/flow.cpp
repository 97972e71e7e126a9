#include <shoal/flow.hpp>

#include <shoal/acquired.hpp>
#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include "flow/core.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace shoal {

using flow::AcquiredTask;
using flow::AcquireTask;
using flow::Handle;
using flow::Mode;
using flow::Request;

Flow::Flow(Team& team, std::string name, const FlowOptions& options,
           const std::source_location& place)
    : core_(std::make_shared<flow::Core>(core_of(team), std::move(name), options, place)),
      sequence_(&core_->main()),
      exceptions_(std::uncaught_exceptions()) {}

Flow::Flow(std::shared_ptr<flow::Core> core, flow::Sequence& sequence)
    : core_(std::move(core)), sequence_(&sequence), exceptions_(std::uncaught_exceptions()) {}

// Throws, since the failure would be lost otherwise: after its wait the main function counts as
// informed.
Flow::~Flow() noexcept(false) {
  if (std::uncaught_exceptions() > exceptions_ || core_->team().failed()) return;
  if (core_->run_has_ended()) return;
  wait();
  if (sequence_ != &core_->main()) return;
  core_->reports().wait_until(0, "end");
  if (core_->dag() != nullptr) core_->dag()->finish();
  if (core_->comparison() != nullptr) core_->comparison()->end();
  if (core_->pruned_end() != nullptr) core_->pruned_end()->end();
}

void Flow::wait() {
  sequence_->report();
  sequence_->wait_until(0, "wait()");
}

Flow Flow::sub_flow(std::string name) {
  sequence_->note("sub_flow", nullptr);
  return {core_, core_->add_sequence(std::move(name), sequence_->options())};
}

FlowStatistics Flow::statistics() const {
  const auto value = [](const std::atomic<std::uint64_t>& count) {
    return count.load(std::memory_order_relaxed);
  };
  const auto& counts = core_->transfers().counts();
  return {value(counts.broadcasts),
          value(counts.recipients),
          value(counts.missed),
          value(counts.announced),
          value(counts.early_bytes_most),
          value(counts.broadcast_bytes),
          value(counts.broadcast_bytes_most),
          value(counts.missed_bytes),
          value(counts.missed_bytes_most)};
}

bool Flow::is_owner(const DataOptions& options) const {
  return core_->rank() == options.owner.value();
}

sched::Scheduler& Flow::scheduler() const { return core_->scheduler(); }

std::uint32_t Flow::generation_of(const Handle& handle) { return handle.generation; }

Handle& Flow::add_handle(const flow::DataType& type, const flow::Shape& shape,
                         const DataOptions& options, void* object, bool owned) {
  core_->check_runs();
  Handle& handle = core_->handles().add(type, shape, options, object, owned);
  const std::uint64_t name = wire::fnv1a(type.spelled);
  const std::uint64_t kind = (name * 31 + shape.rows) * 31 + shape.columns;  // compared, not shown
  sequence_->note("register", &handle, handle.owner, kind);
  return handle;
}

void Flow::check(const Request& request, const char* what) const {
  core_->check_runs();
  SHOAL_CHECK(
      request.handle != nullptr,
      "flow '{}': {} of a datum that was never registered: call data(), vector() or matrix()",
      name(), what);
  const flow::Instances* const flow = request.handle->flow;
  SHOAL_CHECK(flow != nullptr && request.handle->generation == request.generation,
              "flow '{}': {} of a datum that was unregistered before{}", name(), what,
              request.handle->former_name(request.generation));
  SHOAL_CHECK(flow == &core_->instances(),
              "flow '{}': {} of '{}', which is a datum of another flow", name(), what,
              request.handle->name());
}

void Flow::check_whole(const Handle& handle, const char* call) const {
  SHOAL_CHECK(
      !handle.partitioned,
      "flow '{}': {} of '{}', which is partitioned: use its parts, or unpartition() it first",
      name(), call, handle.name());
}

void Flow::set_reduction_functions(const Request& request, Function<void(void*)> init,
                                   Function<void(void*, const void*)> combine) {
  check(request, "set_reduction()");
  sequence_->settle(*request.handle, Mode::read);
  auto reduction = std::make_shared<flow::Reduction>();
  reduction->init = std::move(init);
  reduction->combine = std::move(combine);
  request.handle->more().reduction = std::move(reduction);
}

// --- waiting

void Flow::check_may_wait(const char* call) const {
  if (sched::in_handler()) sched::refuse_in_handler(fmt::format("flow '{}': {}", name(), call));
}

void Flow::enter_and_wait(AcquireTask& task) {
  sequence_->enter_watched(task);
  if (!task.future().is_ready()) sequence_->report();
  task.await();
}

AcquiredTask Flow::begin_acquire(Request request, int rank) {
  check(request, "acquire()");
  check_whole(*request.handle, "acquire()");
  if (rank == flow::InsertOptions::kByOwner) rank = request.handle->owner;
  flow::InsertOptions options;
  options.rank = rank;
  sequence_->set_place({});  // an insertion may have been refused before
  if (!sequence_->begin(nullptr, std::span(&request, 1), options)) return nullptr;
  auto* const task = new AcquireTask(*sequence_, request);
  AcquiredTask owned(task);
  sequence_->submit(task, std::span(&request, 1));
  if (!task->future().is_ready()) sequence_->report();
  return owned;
}

AcquiredTask Flow::acquire_request(const Request& request, int rank) {
  check_may_wait("acquire()");
  AcquiredTask task = begin_acquire(request, rank);
  if (task != nullptr) task->await();
  return task;
}

AcquiredTask Flow::acquire_everywhere(const Request& request) {
  check_may_wait("get()");
  check(request, "get()");
  Handle& handle = *request.handle;
  check_whole(handle, "get()");
  sequence_->note("get", &handle);
  sequence_->settle(handle, Mode::read);
  if (core_->rank() == handle.owner) {
    for (int rank = 0; rank < core_->size(); ++rank) {
      if (rank != handle.owner) sequence_->bring(handle, rank);
    }
  } else {
    sequence_->bring(handle, core_->rank());
  }
  Request here = request;
  here.instance = handle.current;
  auto* const task = new AcquireTask(*sequence_, here);
  AcquiredTask owned(task);
  enter_and_wait(*task);
  return owned;
}

void Flow::wait_for(const Request& request) {
  check_may_wait("wait()");
  check(request, "wait()");
  sequence_->note("wait", request.handle);
  sequence_->settle(*request.handle, Mode::read);
  Request here = request;
  here.instance = request.handle->current;
  if (here.instance == nullptr) return;
  auto* const task = new AcquireTask(*sequence_, here);
  const AcquiredTask owned(task);
  enter_and_wait(*task);
}

// --- where data are

void Flow::migrate_to(const Request& request, Rank rank) {
  check(request, "migrate()");
  if (rank < 0 || rank >= core_->size())
    core_->team().refuse_rank(
        fmt::format("flow '{}': migrate() of '{}'", name(), request.handle->name()), rank.value());
  check_whole(*request.handle, "migrate()");
  sequence_->note("migrate", request.handle, rank);
  sequence_->migrate(*request.handle, rank);
}

void Flow::flush_one(const Request& request) {
  check(request, "flush()");
  sequence_->note("flush", request.handle);
  sequence_->renew(*request.handle);
}

void Flow::flush() {
  sequence_->note("flush", nullptr);
  core_->handles().for_each([this](Handle& handle) { sequence_->renew(handle); });
}

void Flow::unregister_request(const Request& request) {
  check(request, "unregister()");
  Handle& handle = *request.handle;
  SHOAL_CHECK(!handle.partitioned,
              "flow '{}': unregister() of '{}', which is partitioned: "
              "unpartition() it first",
              name(), handle.name());
  SHOAL_CHECK(handle.whole == nullptr,
              "flow '{}': unregister() of '{}', which is a part: "
              "unpartition() the whole",
              name(), handle.name());
  sequence_->note("unregister", &handle);
  sequence_->settle(handle, Mode::read);
  sequence_->migrate(handle, handle.home);
  if (core_->rank() == handle.home) {
    Request last = request;
    last.mode = Mode::read_write;
    last.instance = handle.current;
    auto* const task = new AcquireTask(*sequence_, last);
    const AcquiredTask owned(task);
    enter_and_wait(*task);
  }
  core_->handles().remove(handle);
}

}  // namespace shoal

namespace shoal::flow {

AcquireTask::AcquireTask(Sequence& sequence, const Request& request)
    : FlowTask(sequence, std::span(accesses_)),
      promise_(sequence.core().scheduler(), request.handle->name()),
      future_(promise_.future()) {
  accesses_[0] = {.instance = request.instance, .task = this, .mode = request.mode};
}

std::string AcquireTask::name() const {
  return fmt::format("acquire(), {}, of '{}'", name_of(accesses_[0].mode),
                     accesses_[0].instance->handle().name());
}

void AcquireTask::become_ready() {
  accesses_[0].object = accesses_[0].instance->object();
  accesses_[0].instance->count_acquired(1);
  promise_.set_value();
  take_step();
}

void AcquireTask::await() { flow::await(sequence().core().team(), future_); }

void AcquireTask::abandon() { take_step(); }

// The other thread may end the task after the first step: nothing of it is used behind that.
void AcquireTask::take_step() {
  // acq_rel: the second one sees the effects of the first
  if (steps_.fetch_add(1, std::memory_order_acq_rel) == 1) release();
}

namespace {

std::exception_ptr given_up(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const TaskError& error) {
    return std::make_exception_ptr(GivenUpError(error));
  }
}

}  // namespace

// That of acquire_async() may end later than the flow, which does not wait once its team has
// failed.
void AcquireTask::drop() {
  is_dropped_ = true;
  const TeamCore& team = sequence().core().team();
  if (steps_.load(std::memory_order_relaxed) == 0) {  // else nobody waits
    promise_.set_exception(team.failed()
                               ? given_up(team.failure_error())
                               : sched::broken_promise(*sched::FutureAccess::completion(future_)));
  }
  take_step();
}

void AcquireTask::release() {
  if (is_dropped_) {
    delete this;
    return;
  }
  accesses_[0].instance->count_acquired(-1);
  accesses_[0].instance->release(accesses_[0].mode);
  sequence().count_finished();
  delete this;
}

void GiveBack::operator()(AcquireTask* task) const { task->abandon(); }

// --- waits that end when the team has failed

void TeamWait::wait() {
  check_may_wait();
  if (is_over() || sched::poll_until(scheduler(), [this] { return is_over(); })) return;
  wait_here();
}

bool TeamWait::withdraw(sync::Waiter& waiter) {
  if (team_.failed()) failure_ = team_.failure_error();  // the team may be gone afterwards
  return what_.withdraw(waiter);
}

void await(TeamCore& team, Future<void>& future) {
  TeamWait wait(*sched::FutureAccess::completion(future), team);
  team.wait_for_part([&wait] { wait.wait(); });
  future.get();
}

AcquiredLater::AcquiredLater(AcquiredTask acquired)
    : acquired_(std::move(acquired)),
      wait_(*sched::FutureAccess::completion(acquired_->future()),
            acquired_->sequence().core().team()) {
  scope = &sched::current_scope(wait_.scheduler());
}

void AcquiredLater::submit(std::unique_ptr<AcquiredLater> task) {
  sched::Waitable& wait = task->wait_;
  sched::submit_after(wait, std::move(task));
}

// The flow may have ended before.
void AcquiredLater::run() {
  sched::Completion& granted = *sched::FutureAccess::completion(acquired_->future());
  std::exception_ptr error = granted.is_ready() ? granted.take_error() : given_up(wait_.failure());
  if (error != nullptr) acquired_ = nullptr;
  go_on(std::move(acquired_), std::move(error));
}

}  // namespace shoal::flow
