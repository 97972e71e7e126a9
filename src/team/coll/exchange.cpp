#include "team/coll/exchange.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>
#include <shoal/detail/sched/park.hpp>

#include "team/coll/operation.hpp"
#include "team/messenger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace shoal::team {

const char* name_of(Kind kind) {
  constexpr std::array kNames{"barrier()",   "broadcast()", "reduce()",
                              "allreduce()", "gather()",    "allgather()",
                              "scan()",      "alltoall()",  "reduce_scatter()"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "an unknown operation";
}

std::string Call::text() const {
  std::string text = name_of(kind);
  if (values.type != nullptr) {
    const std::string type = naming::readable(values.type->spelled, "T");
    text += values.array_bytes == Values::kSingle
                ? fmt::format(" of {}", type)
                : fmt::format(" of {} elements of {}", values.array_bytes / values.type->size_bytes,
                              type);
    if (const std::string_view operation = values.type->operation; !operation.empty()) {
      text += fmt::format(" by {}", naming::tidy(operation));
    }
  }
  if (has_root()) text += fmt::format(" with root {}", root.value());
  return text;
}

/// Operations that are under way, few at a time, and pieces of those that have not begun here.
struct Exchange::Table {
  static constexpr std::size_t kRecentMax = 16;  // power of two

  [[nodiscard]] SharedOperation find(std::uint64_t sequence) const {
    for (const SharedOperation& operation : running) {
      if (operation->sequence() == sequence) return operation;
    }
    return nullptr;
  }
  /// Operation of this number, of those that have begun lately.
  [[nodiscard]] std::string text_of(std::uint64_t sequence) const {
    if (recent == nullptr || sequence > begun || sequence + kRecentMax <= begun)
      return "another operation";
    return (*recent)[sequence % kRecentMax].text();
  }
  void remove(const Operation& operation) {
    std::erase_if(running, [&](const auto& one) { return one.get() == &operation; });
  }

  std::uint64_t begun = 0;  // operations so far
  /// The last of them, by number, for errors; nullptr: none yet, or there is one member.
  std::unique_ptr<std::array<Call, kRecentMax>> recent;
  std::vector<SharedOperation> running;
  std::map<std::uint64_t, std::vector<std::pair<PieceHeader, Block>>> early;
  /// Blocks that arrive, by operation, source and phase.
  std::map<std::tuple<std::uint64_t, std::int32_t, std::uint32_t>, std::shared_ptr<Bytes>> arriving;
  std::set<std::uint64_t> given_up;
};

Exchange::Exchange(TeamCore& core)
    : core_(core), rank_(core.rank()), size_(core.size()), table_(std::make_unique<Table>()) {
  core_.add(*this);
  core_.services().provide(*this);
}

Exchange::~Exchange() {
  core_.services().withdraw<Exchange>();
  core_.remove(*this);
}

bool Exchange::is_local(Rank member) const {
  return core_.messenger().fabric().layout().is_local(core_.to_world(member));
}

bool Exchange::in_one_process() const {
  return core_.messenger().fabric().layout().process_count() == 1;
}

// --- operations begin and end

SharedOperation Exchange::enter(const Call& call) {
  core_.check_member(name_of(call.kind));
  if (call.root < 0 || call.root >= size_) [[unlikely]]
    core_.refuse_rank(fmt::format("root of {}", name_of(call.kind)), call.root.value());
  SharedOperation operation;
  bool has_early = false;
  {
    const sync::Lock lock(mutex_);
    operation = std::make_shared<Operation>(*this, ++table_->begun, call);
    if (size_ > 1) {
      if (table_->recent == nullptr) [[unlikely]]
        table_->recent = std::make_unique<std::array<Call, Table::kRecentMax>>();
      (*table_->recent)[operation->sequence() % Table::kRecentMax] = call;
      has_early = !table_->early.empty();
    }
    table_->running.push_back(operation);
  }
  if (has_early) take_early(*operation);
  return operation;
}

// Its coroutine has not begun: later pieces may have come before these.
void Exchange::take_early(Operation& operation) {
  std::vector<PieceHeader> different;
  {
    const sync::Lock lock(mutex_);
    const auto early = table_->early.find(operation.sequence());
    if (early == table_->early.end()) return;
    for (auto& [header, block] : early->second) {
      if (is_of(header, operation.call())) {
        operation.pieces_.push_back(
            {header.phase, header.source, header.announced, std::move(block)});
      } else {
        different.push_back(header);
      }
    }
    table_->early.erase(early);
  }
  for (const PieceHeader& header : different) name_both(header);
}

const std::vector<Block>& Exchange::wait(const SharedOperation& operation) {
  if (operation->is_done()) {
    flush();
    return after_completion(*operation);
  }
  core_.check_member(operation->waited_operation().name);
  if (sched::poll_until(core_.scheduler(), [&] { return operation->is_done(); })) {
    return after_completion(*operation);
  }
  flush();
  try {
    // Looked at only when parked: else the piece that completes it could come in between.
    core_.park_member(operation->waited_operation(), [&] {
      const sync::Lock lock(mutex_);
      operation->has_waiter_ = !operation->is_done();
      return operation->is_done();
    });
  } catch (...) {
    sched::tell_goes_on();  // it may have been refused before it stood
    give_up(*operation);
    throw;
  }
  return operation->results();
}

// The worker that has completed it may still have the lock; the caller may destroy this.
const std::vector<Block>& Exchange::after_completion(const Operation& operation) const {
  const sync::Lock lock(mutex_);
  return operation.results();
}

// The caller may go on to block its thread outside of shoal.
void Exchange::flush() const {
  if (size_ > 1) core_.messenger().flush();
}

void Exchange::then(const SharedOperation& operation, const sync::Ref<Result>& result) {
  flush();
  bool is_done = false;
  {
    const sync::Lock lock(mutex_);
    is_done = operation->is_done();
    if (!is_done) operation->result_ = result;
  }
  if (is_done) {
    result->complete(operation->results());
  } else if (core_.failed()) {
    core_.give_up_promises();
  }
}

void Exchange::give_up(const TeamCore& failed, std::vector<GivenUp>& promises) {
  if (&failed != &core_) return;
  const sync::Lock lock(mutex_);
  for (const SharedOperation& operation : table_->running) {
    if (operation->result_ == nullptr) continue;
    promises.emplace_back([result = std::move(operation->result_)](
                              const std::exception_ptr& error) { result->fail(error); });
  }
}

// Its coroutine stands at its end, or is not gone on with any more.
void Exchange::complete(Operation& operation) {
  if (operation.failed_) return;
  sync::Ref<Result> result;
  bool has_waiter = false;
  {
    const sync::Lock lock(mutex_);
    operation.done_.store(true, std::memory_order_release);
    result = std::move(operation.result_);
    has_waiter = operation.has_waiter_;
    table_->remove(operation);
  }
  if (result != nullptr) result->complete(operation.results());
  if (has_waiter) core_.unpark_member();
}

void Exchange::give_up(Operation& operation) {
  const sync::Lock lock(mutex_);
  operation.has_waiter_ = false;
  operation.awaited_ = nullptr;
  table_->given_up.insert(operation.sequence());
  table_->remove(operation);
}

void Exchange::fail(const Operation& operation) {
  core_.fail(operation.waited_operation().text(), std::current_exception());
}

// --- pieces

void Exchange::on_piece(const PieceHeader& header, Block block) {
  SharedOperation operation;
  std::coroutine_handle<> go_on;
  bool is_different = false;
  {
    const sync::Lock lock(mutex_);
    if (table_->given_up.contains(header.sequence)) return;
    if (header.sequence > table_->begun) {
      table_->early[header.sequence].emplace_back(header, std::move(block));
      return;
    }
    operation = table_->find(header.sequence);
    is_different = operation == nullptr || !is_of(header, operation->call());
    if (!is_different) {
      Piece piece{header.phase, header.source, header.announced, std::move(block)};
      Operation::Receive* const awaited = operation->awaited_;
      if (awaited != nullptr && awaited->fits(piece)) {
        awaited->piece_ = std::move(piece);
        operation->awaited_ = nullptr;
        go_on = awaited->handle_;
      } else {
        operation->pieces_.push_back(std::move(piece));
      }
    }
  }
  if (is_different) [[unlikely]]
    return name_both(header);
  if (go_on) go_on.resume();
}

/// Handler of the messages that announce payloads.
struct Exchange::Announcements {
  static void receive(void* /*self*/, const Message& message) {
    std::span<const std::byte> rest;
    const LargeHeader large = split_large(message, rest);
    // The team has failed, and the exchange may be gone.
    if (message.dropped) return drop_large(message, large);
    const auto [header] = decode<PieceHeader>(rest);
    message.core->services().get<Exchange>().on_announcement(message, large, header);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): registers itself
  static inline StaticHandler handler{"shoal::collective_payload", type_signature<PieceHeader>(),
                                      Delivery::inlined, &invoke_each<&receive>};
};

void Exchange::send_payload(Rank target, std::span<const std::byte> bytes,
                            const PieceHeader& header, Function<void()> then) {
  std::vector<std::byte> arguments = encoded(header);
  send_large(core(),
             {Announcements::handler.index() | kLargeBit | kOwnOrderBit | core().flag_bits(),
              Announcements::handler.signature(), target},
             {bytes, bytes.size()}, arguments,
             make_event(core(), "a collective operation", std::move(then)));
}

void Exchange::on_announcement(const Message& message, const LargeHeader& large,
                               const PieceHeader& header) {
  std::span<std::byte> place;
  try {
    place = place_of(large.size_bytes, header);
  } catch (...) {
    drop_large(message, large);  // the sender is not to wait for ever
    throw;
  }
  receive_payload(message, large, place, "a collective operation",
                  [this, head = header] { on_payload(head); });
}

std::span<std::byte> Exchange::place_of(std::size_t size_bytes, const PieceHeader& header) {
  if (header.inline_size == PieceHeader::kPayloadBlock) {
    auto bytes = std::make_shared<Bytes>(size_bytes);
    const std::span<std::byte> place(*bytes);
    const sync::Lock lock(mutex_);
    table_->arriving[{header.sequence, header.source, header.phase}] = std::move(bytes);
    return place;
  }
  std::span<std::byte> place;
  bool found = false;
  {
    const sync::Lock lock(mutex_);
    const SharedOperation operation = table_->find(header.sequence);
    if (operation != nullptr) {
      std::vector<Operation::Place>& places = operation->places_;
      const auto at = std::ranges::find_if(places, [&header](const Operation::Place& one) {
        return one.source == header.source && one.phase == header.phase;
      });
      found = at != places.end();
      if (found) {
        place = at->bytes;
        places.erase(at);
      }
    }
  }
  SHOAL_CHECK(found, "{}: an unexpected payload has come from rank {}", name_of(header.kind),
              header.source);
  SHOAL_CHECK(size_bytes == place.size(),
              "{}: a member gives {} bytes where this one has room for {}: all must give values of "
              "the same size",
              name_of(header.kind), size_bytes, place.size());
  return place;
}

void Exchange::on_payload(const PieceHeader& header) {
  if (header.inline_size != PieceHeader::kPayloadBlock) return on_piece(header, {});
  std::shared_ptr<const Bytes> bytes;
  {
    const sync::Lock lock(mutex_);
    const auto found = table_->arriving.find({header.sequence, header.source, header.phase});
    bytes = std::move(found->second);
    table_->arriving.erase(found);
  }
  on_piece(header, Block(Immutable<Bytes>(std::move(bytes))));
}

// --- members that have begun different operations

bool Exchange::is_of(const PieceHeader& piece, const Call& call) {
  const std::uint16_t operation = call.operation_hash();
  return piece.kind == call.kind && piece.type == call.values.signature &&
         piece.root == call.root.value() &&
         (piece.operation == operation || piece.operation == 0 || operation == 0);
}

/// On the member that has sent the piece, which knows what it has begun itself.
struct Exchange::Difference {
  static void name_both(Exchange& exchange, std::uint64_t sequence, std::int32_t world_rank,
                        const std::string& there) {
    const std::string here = [&] {
      const sync::Lock lock(exchange.mutex_);
      return exchange.table_->text_of(sequence);
    }();
    exchange.core_.fail(
        "a collective operation",
        std::make_exception_ptr(CheckError(fmt::format(
            "collective number {} is {} on rank {}, and {} on rank {}: all members call the same "
            "operations in the same order, with values of one type, arrays of one size, one way to "
            "combine them and the "
            "same root",
            sequence, here, exchange.core_.messenger().rank().value(), there, world_rank))));
  }
};

// The piece is dropped: the failure ends what waits for it.
void Exchange::name_both(const PieceHeader& piece) {
  const std::string here = [&] {
    const sync::Lock lock(mutex_);
    return table_->text_of(piece.sequence);
  }();
  send(core(), Rank(piece.source), am<&Difference::name_both>, piece.sequence,
       std::int32_t{core_.messenger().rank().value()}, here);
}

// --- operations with a future

std::uint64_t Exchange::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  std::uint64_t count = 0;
  for (const SharedOperation& operation : table_->running) {
    count += operation->result_ != nullptr ? 1 : 0;
  }
  return count;
}

std::vector<std::string> Exchange::describe_unsatisfied() const {
  const sync::Lock lock(mutex_);
  std::vector<std::string> lines;
  for (const SharedOperation& operation : table_->running) {
    if (operation->result_ == nullptr || operation->awaited_ == nullptr) continue;
    lines.push_back(fmt::format("{} waits for a message from rank {}",
                                operation->waited_operation().text(),
                                operation->awaited_->source_));
  }
  return lines;
}

void Exchange::add_to(TeamCalls& calls) const {
  const sync::Lock lock(mutex_);
  calls.begun = table_->begun;
  for (const SharedOperation& operation : table_->running) {
    if (operation->is_done()) continue;
    calls.open.emplace_back(operation->sequence(), operation->waited_operation().text());
  }
}

}  // namespace shoal::team
