#include "flow/transfers.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/team/multicast.hpp>
#include <shoal/large_message.hpp>

#include <fmt/format.h>

#include "flow/core.hpp"
#include "sched/traced.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace shoal::flow {

using team::LargeHeader;
using team::Message;

namespace {

constexpr std::uint32_t kTypes = type_signature<LargeHeader, TransferId, bool>();

}  // namespace

struct ValueMessage::Receiver : team::Handler {
  Functions functions;

  static void on_header(void* self, const Message& message);
  void receive(const Message& message, const LargeHeader& header, std::span<std::byte> place,
               const TransferId& id);
};

ValueMessage::ValueMessage(TeamCore& team, const std::string& name, Functions functions,
                           const std::source_location& place)
    : team_(team), receiver_(std::make_shared<Receiver>()) {
  receiver_->functions = std::move(functions);
  receiver_->signature = kTypes;
  receiver_->self = receiver_.get();
  receiver_->invoke = &team::invoke_each<&Receiver::on_header>;
  index_ = team.add_handler(receiver_, name, team::source_of<ValueMessage>(place));
}

ValueMessage::~ValueMessage() { team_.remove_handler(index_); }

std::uint32_t ValueMessage::handler() const {
  return team::kInstanceBit | team::kOwnOrderBit | team_.flag_bits() | index_;
}

void ValueMessage::send(Rank target, std::span<const std::byte> bytes, const TransferId& id,
                        bool report, Function<void()> release) const {
  team::send_large(team_, {handler() | team::kLargeBit, receiver_->signature, target},
                   {bytes, bytes.size()}, encoded(id, report),
                   team::make_event(team_, receiver_->name, std::move(release)));
}

void ValueMessage::multicast(const Recipients& recipients, std::span<const std::byte> bytes,
                             const TransferId& id, bool report, Function<void()> release) const {
  team::multicast_large(team_, {handler(), receiver_->signature}, recipients, {bytes, bytes.size()},
                        encoded(id, report), std::move(release));
}

void ValueMessage::Receiver::on_header(void* self, const Message& message) {
  std::span<const std::byte> rest;
  const LargeHeader header = team::split_large(message, rest);
  if (message.dropped) return team::drop_payload(message, header);
  auto* const receiver = static_cast<Receiver*>(self);
  std::optional<std::tuple<TransferId, bool>> arguments;
  std::span<std::byte> place;
  try {
    arguments.emplace(decode<TransferId, bool>(rest));
    const auto& [id, report] = *arguments;
    place = receiver->functions.buffer(header.size_bytes, id, report);
  } catch (...) {
    team::drop_payload(message, header);  // the sender is not to wait for ever
    throw;
  }
  receiver->receive(message, header, place, std::get<0>(*arguments));
}

void ValueMessage::Receiver::receive(const Message& message, const LargeHeader& header,
                                     std::span<std::byte> place, const TransferId& id) {
  // The event's own reference: it may outlive the ValueMessage.
  auto self = std::static_pointer_cast<Receiver>(shared_from_this());
  if (message.multicast == nullptr) {
    team::receive_large(
        message, header, place,
        team::make_event(*message.core, name, [team = message.core, self = std::move(self), id] {
          team::check_live(*team, *self);
          self->functions.arrived(id, nullptr);
        }));
    return;
  }
  auto forwarding = std::make_shared<Forwarding>();
  team::join_multicast(message, header, place,
                       {.arrived =
                            [team = message.core, self = std::move(self), id, forwarding] {
                              team::check_live(*team, *self);
                              self->functions.arrived(id, forwarding);
                            },
                        .done = [forwarding = std::move(forwarding)] {}});
}

namespace {

/// Calls f(number, destinations) for those of one number at a time: a receiver finds its transfer
/// by the number, which is nearly always the same for all.
template <class F>
void for_each_number(std::span<const Destination> to, F f) {
  std::vector<Destination> sorted(to.begin(), to.end());
  std::ranges::stable_sort(sorted, {}, &Destination::number);
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t end = first + 1;
    while (end < sorted.size() && sorted[end].number == sorted[first].number) ++end;
    f(sorted[first].number, std::span(sorted).subspan(first, end - first));
    first = end;
  }
}

// The urgent lane is for short messages: nothing holds them back.
constexpr std::size_t kUrgentBytesMax = 8192;

Recipients recipients_of(std::span<const Destination> to, const MulticastTree& tree,
                         bool urgent = false) {
  std::vector<Rank> ranks;
  std::vector<int> priorities;
  for (const Destination& one : to) {
    ranks.emplace_back(one.rank);
    priorities.push_back(one.priority);
  }
  Recipients recipients(ranks, tree, std::move(priorities));
  return urgent ? std::move(recipients).urgent() : recipients;
}

}  // namespace

/// Releases the read access to a value when all transfers of it have left.
class Transfers::Release {
 public:
  Release(const Transfers& transfers, Instance& instance, Sequence& sequence)
      : ended_(transfers.ended_), instance_(instance), sequence_(sequence) {}
  ~Release() {
    // acquire pairs with the release in ~Transfers()
    if (ended_->load(std::memory_order_acquire) || sequence_.core().team().failed()) return;
    instance_.release(Mode::read);
    sequence_.count_finished();
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

  [[nodiscard]] Instance& instance() const { return instance_; }
  /// It overtakes values that are under way.
  bool is_urgent = false;
  /// The value as it travels: where it is, or a copy in `encoded`.
  [[nodiscard]] std::span<const std::byte> payload(
      std::shared_ptr<const std::vector<std::byte>>& encoded) const {
    const DataType& type = *instance_.handle().type;
    const std::span<const std::byte> bytes = type.bytes(instance_.object());
    if (bytes.data() != nullptr) return bytes;
    encoded = std::make_shared<const std::vector<std::byte>>(type.encode(instance_.object()));
    return *encoded;
  }

 private:
  const std::shared_ptr<const std::atomic<bool>> ended_;
  Instance& instance_;
  Sequence& sequence_;
};

Transfers::Transfers(Core& core, const FlowOptions& options)
    : core_(core),
      tree_(options.broadcast_tree),
      window_(options.early_bytes_max, core.size()),
      small_(
          core.team(),
          [this](const TransferId& id, bool report, std::span<const std::byte> bytes) {
            on_value(id, report, bytes);
          },
          team::model_options(fmt::format("flow '{}'", core.name())), core.place()),
      large_(core.team(), fmt::format("flow '{}', large", core.name()),
             {.buffer = [this](std::size_t size_bytes, const TransferId& id,
                               bool report) { return buffer_for(size_bytes, id, report); },
              .arrived =
                  [this](const TransferId& id, SharedForwarding forwarding) {
                    on_large_value(id, std::move(forwarding));
                  }},
             core.place()),
      announcement_(
          core.team(), [this](const TransferId& id) { on_announcement(id); },
          team::model_options(fmt::format("flow '{}', announcement", core.name())), core.place()),
      question_(
          core.team(), [this](const TransferId& id) { on_question(id); },
          team::model_options(fmt::format("flow '{}', question", core.name())), core.place()),
      taken_(
          core.team(),
          [this](int rank, std::uint64_t taken) {
            {
              const sync::Lock lock(mutex_);
              window_.set_taken(rank, taken);
            }
            core_.reports().count_finished();
          },
          team::model_options(fmt::format("flow '{}', taken", core.name())), core.place()) {}

// Others may still get parts of a value that no task has received.
Transfers::~Transfers() {
  ended_->store(true, std::memory_order_release);
  const sync::Lock lock(mutex_);
  for (auto& [id, match] : matches_) {
    if (match.forwarding == nullptr || match.in_place) continue;
    match.forwarding->keeps =
        std::make_shared<const std::vector<std::byte>>(std::move(match.bytes));
  }
}

// --- sending

// All values are sent here.
void Transfers::send(Instance& instance, Sequence& sequence, std::span<const Destination> to,
                     bool is_late) {
  const auto release = std::make_shared<Release>(*this, instance, sequence);
  std::shared_ptr<const std::vector<std::byte>> encoded;
  const std::span<const std::byte> payload = release->payload(encoded);
  if (to.size() > 1) counts_.add_broadcast(payload.size(), to.size());
  if (is_late) counts_.add_missed(payload.size());
  std::vector<Destination> now;
  std::vector<Destination> later;
  bool report = false;
  {
    const sync::Lock lock(mutex_);
    for (const Destination& one : to) {
      const EarlyWindow::Answer answer = window_.admit(one.rank, payload.size());
      report = report || answer == EarlyWindow::Answer::report;
      if (one.priority > std::exchange(priorities_[one.rank], one.priority)) {
        release->is_urgent = payload.size() <= kUrgentBytesMax;
      }
      (answer == EarlyWindow::Answer::no ? later : now).push_back(one);
    }
    if (report) core_.reports().count_created(now.size());
  }
  transmit(release, payload, encoded, now, report);
  if (!later.empty()) announce(release, later);
}

void Transfers::transmit(const std::shared_ptr<Release>& release,
                         std::span<const std::byte> payload,
                         const std::shared_ptr<const std::vector<std::byte>>& encoded,
                         std::span<const Destination> to, bool report) {
  const std::uint64_t handle = release->instance().handle().id;
  for_each_number(to, [&](std::uint32_t number, std::span<const Destination> some) {
    const TransferId id{handle, core_.rank(), number};
    const bool is_large = payload.size() >= kLargeMessageBytes;
    if (some.size() == 1 && is_large) {
      large_.send(Rank(some.front().rank), payload, id, report, [release, encoded] {});
    } else if (some.size() == 1 && release->is_urgent) {
      small_.send_urgent(Rank(some.front().rank), id, report, payload);
    } else if (some.size() == 1) {
      small_.send(Rank(some.front().rank), id, report, payload);
    } else if (is_large) {
      large_.multicast(recipients_of(some, tree_), payload, id, report, [release, encoded] {});
    } else {
      small_.multicast(recipients_of(some, tree_, release->is_urgent), id, report, payload);
    }
  });
}

void Transfers::announce(const std::shared_ptr<Release>& release, std::span<const Destination> to) {
  const std::uint64_t handle = release->instance().handle().id;
  counts_.announced.fetch_add(to.size(), std::memory_order_relaxed);
  {
    const sync::Lock lock(mutex_);
    for (const Destination& one : to) {
      announced_.emplace(TransferId{handle, one.rank, one.number}, release);
    }
  }
  for_each_number(to, [&](std::uint32_t number, std::span<const Destination> some) {
    announcement_.multicast(recipients_of(some, tree_, release->is_urgent),
                            TransferId{handle, core_.rank(), number});
  });
}

void Transfers::on_question(const TransferId& id) {
  std::shared_ptr<Release> release;
  {
    const sync::Lock lock(mutex_);
    const auto found = announced_.find(id);
    release = std::move(found->second);
    announced_.erase(found);
  }
  std::shared_ptr<const std::vector<std::byte>> encoded;
  const std::span<const std::byte> payload = release->payload(encoded);
  const Destination to{.rank = id.rank, .number = id.number};
  transmit(release, payload, encoded, std::span(&to, 1), false);
}

// --- receiving

void Transfers::expect(ReceiveTask& task) {
  const TransferId id = task.id();
  std::uint64_t taken = 0;
  bool must_ask = false;
  bool has_value = false;
  {
    const sync::Lock lock(mutex_);
    const auto [found, is_new] = matches_.try_emplace(id);
    Match& match = found->second;
    match.task = &task;
    if (match.complete) {
      has_value = true;
      sched::traced::needs(task, match.message);
      taken = take(id, match, match.bytes.size());
      hand_over(task, match);
      matches_.erase(found);
    } else {
      must_ask = match.announced && !std::exchange(match.asked, true);
    }
  }
  if (must_ask) ask(id);
  if (taken != 0) tell_taken(id.rank, taken);
  if (has_value) satisfy(task);
}

void Transfers::on_announcement(const TransferId& id) {
  Promise<void>* all_arrived = nullptr;
  bool must_ask = false;
  {
    const sync::Lock lock(mutex_);
    Match& match = matches_[id];
    match.announced = true;
    must_ask = match.asked = match.task != nullptr;
    if (!must_ask) all_arrived = arrived_unclaimed();
  }
  if (must_ask) {
    ask(id);
  } else if (all_arrived != nullptr) {
    all_arrived->set_value();  // the last step: the flow may end
  }
}

void Transfers::ask(const TransferId& id) {
  question_.send(Rank(id.rank), TransferId{id.handle, core_.rank(), id.number});
}

void Transfers::note_early(Match& match, std::size_t bytes) {
  match.early = true;
  early_bytes_ += bytes + EarlyWindow::kValueOverhead;
  Counts::raise(counts_.early_bytes_most, early_bytes_);
}

std::uint64_t Transfers::take(const TransferId& id, const Match& match, std::size_t bytes) {
  ++taken_count_;
  if (match.early) early_bytes_ -= bytes + EarlyWindow::kValueOverhead;
  if (match.asked) return 0;
  const std::uint64_t taken = window_.take(id.rank, bytes);
  return match.report ? taken : 0;
}

void Transfers::tell_taken(int rank, std::uint64_t taken) {
  taken_.send(Rank(rank), core_.rank(), taken);
}

// A value that may be written at once, as it is, needs no task: the receive ends here.
void Transfers::on_value(const TransferId& id, bool report, std::span<const std::byte> bytes) {
  ReceiveTask* task = nullptr;
  Promise<void>* all_arrived = nullptr;
  std::uint64_t taken = 0;
  {
    const sync::Lock lock(mutex_);
    const auto [found, is_new] = matches_.try_emplace(id);
    Match& match = found->second;
    match.report = report;
    if (is_new) {
      match.bytes.assign(bytes.begin(), bytes.end());
      match.complete = true;
      if (core_.dependencies() != nullptr) match.message = sched::traced::running();
      note_early(match, bytes.size());
      all_arrived = arrived_unclaimed();
    } else {
      task = match.task;
      taken = take(id, match, bytes.size());
      matches_.erase(found);
    }
  }
  if (task == nullptr) {
    if (all_arrived != nullptr) all_arrived->set_value();  // the last step: the flow may end
    return;
  }
  const std::span<std::byte> place =
      task->lacks_value_only() ? task->place() : std::span<std::byte>();
  if (place.size() == bytes.size() && !bytes.empty()) {
    std::ranges::copy(bytes, place.begin());
    task->arrive_in_place();
  } else {
    task->arrive({bytes.begin(), bytes.end()});
  }
  if (taken != 0) tell_taken(id.rank, taken);
  if (core_.dependencies() != nullptr) sched::traced::needs(*task, sched::traced::running());
  satisfy(*task);  // the last step: the flow may end
}

std::span<std::byte> Transfers::buffer_for(std::size_t size_bytes, const TransferId& id,
                                           bool report) {
  const sync::Lock lock(mutex_);
  Match& match = matches_[id];
  match.report = report;
  if (match.task != nullptr && match.task->lacks_value_only()) {
    const std::span<std::byte> place = match.task->place();
    if (place.size() == size_bytes) {
      match.in_place = true;
      return place;
    }
  }
  match.bytes.resize(size_bytes);
  if (match.task == nullptr) note_early(match, size_bytes);
  return match.bytes;
}

void Transfers::on_large_value(const TransferId& id, SharedForwarding forwarding) {
  ReceiveTask* task = nullptr;
  Promise<void>* all_arrived = nullptr;
  std::uint64_t taken = 0;
  {
    const sync::Lock lock(mutex_);
    const auto found = matches_.find(id);
    Match& match = found->second;
    match.complete = true;
    if (core_.dependencies() != nullptr) match.message = sched::traced::running();
    match.forwarding = std::move(forwarding);
    task = match.task;
    if (task == nullptr) {
      all_arrived = arrived_unclaimed();
    } else {
      taken = take(id, match, match.in_place ? task->place().size() : match.bytes.size());
      hand_over(*task, match);
      matches_.erase(found);
    }
  }
  if (task == nullptr) {
    if (all_arrived != nullptr) all_arrived->set_value();  // the last step: the flow may end
    return;
  }
  if (taken != 0) tell_taken(id.rank, taken);
  if (core_.dependencies() != nullptr) sched::traced::needs(*task, sched::traced::running());
  satisfy(*task);  // the last step: the flow may end
}

// While the value is forwarded, its bytes stay unchanged: either the instance is only read, or the
// bytes from which it was made are kept.
void Transfers::hand_over(ReceiveTask& task, Match& match) {
  if (match.in_place && match.forwarding != nullptr) {
    auto hold = std::make_shared<Release>(*this, *task.access().instance, task.sequence());
    match.forwarding->keeps = hold;
    task.arrive_in_place(std::move(hold));
  } else if (match.in_place) {
    task.arrive_in_place();
  } else if (match.forwarding != nullptr) {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(match.bytes));
    match.forwarding->keeps = bytes;
    task.arrive(bytes);
  } else {
    task.arrive(std::move(match.bytes));
  }
}

// --- the end of a pruned flow

std::pair<std::vector<int>, std::vector<std::uint64_t>> Transfers::sent_counts() const {
  std::pair<std::vector<int>, std::vector<std::uint64_t>> result;
  const sync::Lock lock(mutex_);
  window_.for_each_count([&result](int rank, std::uint64_t count) {
    result.first.push_back(rank);
    result.second.push_back(count);
  });
  return result;
}

// A receive that waits is none of them: the flow has not ended yet then.
std::uint64_t Transfers::arrived_count() const {
  std::uint64_t count = taken_count_;
  for (const auto& [id, match] : matches_) {
    if (match.task == nullptr && (match.complete || match.announced)) ++count;
  }
  return count;
}

Promise<void>* Transfers::arrived_unclaimed() const {
  return all_arrived_ != nullptr && arrived_count() == awaited_ ? all_arrived_ : nullptr;
}

void Transfers::await(std::uint64_t total, Promise<void>& all_arrived) {
  bool is_over = false;
  {
    const sync::Lock lock(mutex_);
    awaited_ = total;
    is_over = arrived_count() == total;
    if (!is_over) all_arrived_ = &all_arrived;
  }
  if (is_over) all_arrived.set_value();  // the last step: the flow may end
}

void Transfers::check_all_received() const {
  TransferId id;
  std::size_t count = 0;
  {
    const sync::Lock lock(mutex_);
    count = matches_.size();
    if (count == 0) return;
    id = std::ranges::min_element(matches_, {}, [](const auto& one) {
           return std::tuple(one.first.handle, one.first.rank, one.first.number);
         })->first;
  }
  const std::string datum = core_.handles().name_of(id.handle);
  throw CheckError(fmt::format(
      "flow '{}': rank {} has sent value {} of '{}' to rank {}, where no insertion receives "
      "it{}{}: "
      "rank {} has left out the insertion of a task that reads '{}' there, or of one that writes "
      "or migrates it before, and has used an older value; a rank of a pruned flow inserts all "
      "that changes data which it reads later",
      core_.name(), id.rank, id.number + 1, datum, core_.rank(),
      count > 1 ? fmt::format(", and {} more", count - 1) : "",
      core_.handles().instead_of(id.handle), core_.rank(), datum));
}

// --- reports

std::uint64_t Transfers::unmatched_count() const {
  const sync::Lock lock(mutex_);
  return matches_.size();
}

void Transfers::describe_unmatched(const std::string& flow,
                                   FunctionRef<void(std::string)> add) const {
  const sync::Lock lock(mutex_);
  for (const auto& [id, match] : matches_) {
    if (match.task != nullptr) {
      add(
          fmt::format("flow '{}': {} waits for a value that rank {} has not sent: both ranks make "
                      "the insertion, get() or acquire() that needs it",
                      flow, match.task->name(), id.rank));
    } else {
      add(
          fmt::format("flow '{}': rank {} has sent a value of '{}' that no task here reads{}: both "
                      "ranks make the insertion, get() or acquire() that needs it",
                      flow, id.rank, core_.handles().name_of(id.handle),
                      core_.handles().instead_of(id.handle)));
    }
  }
}

void Transfers::add_waiting_tasks(std::vector<FlowTask*>& tasks) const {
  const sync::Lock lock(mutex_);
  for (const auto& [id, match] : matches_) {
    if (match.task != nullptr) tasks.push_back(match.task);
  }
}

}  // namespace shoal::flow
