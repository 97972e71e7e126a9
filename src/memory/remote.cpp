#include "memory/remote.hpp"
#include "team/messenger.hpp"

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace shoal::memory {

namespace {

bool process_shares(TeamCore& team) {
  const net::Fabric& fabric = team.messenger().fabric();
  if (fabric.transport() == nullptr) return false;
  for (int process = 0; process < fabric.layout().process_count(); ++process) {
    if (process != fabric.layout().process && fabric.transport()->shares_memory(process)) {
      return true;
    }
  }
  return false;
}

bool chosen_checks(const GlobalMemoryOptions& options, TeamCore& team) {
  if (options.checks == GlobalMemoryOptions::Checks::as_run) {
    return team.checks_graphs() && !sync::watches_strands();  // see may_be_near()
  }
  return options.checks == GlobalMemoryOptions::Checks::on;
}

Defaults defaults_of(TeamCore& team) {
  const auto* const defaults = team.messenger().services().find<Defaults>();
  return defaults != nullptr ? *defaults : Defaults();
}

/// Calls f(part, offset of its data) for parts that each fit a message, or are one large block.
template <class F>
void for_parts(const Range& range, F f) {
  const std::uint64_t together = std::max<std::uint64_t>(
      1, kLargeMessageBytes / std::max<std::uint64_t>(1, range.block_bytes));
  for (std::uint64_t first = 0; first < range.count; first += together) {
    Range part = range;
    part.offset += first * range.stride_bytes;
    part.count = std::min(together, range.count - first);
    f(part, first * range.block_bytes);
  }
}

bool is_large(const Range& range) {
  return range.count == 1 && range.block_bytes >= kLargeMessageBytes;
}

}  // namespace

/// Destination of a large answer: the requester's memory, or temporary memory if the request was
/// abandoned.
class LandingPlace {
 public:
  LandingPlace(Request request, std::size_t size_bytes) : request_(std::move(request)) {
    if (request_.pending != nullptr && request_.pending->enter()) {
      bytes_ = {request_.to, size_bytes};
    } else {
      request_.pending = {};
      unwanted_.resize(size_bytes);
      bytes_ = unwanted_;
    }
  }
  ~LandingPlace() {
    if (request_.pending != nullptr) request_.pending->leave();
  }
  LandingPlace(const LandingPlace&) = delete;
  LandingPlace& operator=(const LandingPlace&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] int source() const { return request_.target; }
  [[nodiscard]] bool is_wanted() const { return request_.pending != nullptr; }
  void fail(std::exception_ptr error) { request_.pending->fail(std::move(error)); }
  void arrived() {
    if (request_.pending != nullptr) request_.pending->end_one();
  }

 private:
  Request request_;
  std::vector<std::byte> unwanted_;
  std::span<std::byte> bytes_;
};

Remote::Remote(Core& core, const GlobalMemoryOptions& options, const std::source_location& made_at)
    : core_(core),
      team_(core.team()),
      name_(options.name),
      checks_(chosen_checks(options, team_)),
      may_share_(process_shares(team_)),
      local_heap_bytes_(options.local_heap_bytes),
      windows_(checks_ ? nullptr : defaults_of(team_).windows),
      rma_bytes_(options.rma_bytes),
      here_(defaults_of(team_).here),
      heap_({.owner = owner_text("global"),
             .option = "--global-heap, GlobalMemoryOptions::heap_bytes",
             .size_bytes = core.heap_bytes_,
             .collective_bytes = core.heap_bytes_ / 2,
             .shared = may_share_ && !checks_,
             .checks = checks_}),
      bases_(team_.size(), may_share_ && !checks_),
      puts_(new PendingValue<void>(team_.scheduler())),
      tell_(
          team_, [this](const HeapPlace& where) { on_place(where); }, named("place of a heap"),
          made_at),
      got_(
          team_, [this](RequestId id, Bytes bytes) { on_got(id, bytes); }, named("answer to get"),
          made_at),
      done_(
          team_, [this](RequestId id, std::uint64_t value) { on_done(id, value); }, named("answer"),
          made_at),
      refused_(
          team_, [this](RequestId id, const std::string& text) { on_refused(id, text); },
          named("refusal"), made_at),
      got_large_(
          team_,
          [this](std::size_t size_bytes, const Landing& landing) {
            landing.place = std::make_shared<LandingPlace>(take(landing.id), size_bytes);
            return landing.place->bytes();
          },
          [this](std::span<std::byte> /*bytes*/, const Landing& landing) { on_got_large(landing); },
          [] {}, named("large answer to get"), made_at),
      ask_(
          team_, [this](const PlaceRequest& request) { on_asked(request); },
          named("where is the heap"), made_at),
      get_(
          team_, [this](const GetRequest& request) { on_get(request); }, named("get"), made_at),
      put_(
          team_, [this](const PutRequest& request, Bytes bytes) { on_put(request, bytes); },
          named("put"), made_at),
      word_(
          team_, [this](const WordRequest& request) { on_word(request); },
          named("operation on a word"), made_at),
      batch_(
          team_,
          [this](const BatchRequest& request, Offsets offsets, Bytes values) {
            on_batch(request, offsets, values);
          },
          named("operation on many elements"), made_at),
      allocate_(
          team_, [this](const AllocateRequest& request) { on_allocate(request); },
          named("allocate"), made_at),
      free_(
          team_, [this](std::uint64_t offset) { heap_.free(offset, false); }, named("free"),
          made_at),
      declare_(
          team_, [this](const Declaration& made) { on_declared(made); },
          named("collective allocation"), made_at),
      put_large_(
          team_,
          [this](std::size_t size_bytes, const PutRequest& request) {
            return std::span(place(request.to.offset), size_bytes);
          },
          [this](std::span<std::byte> /*bytes*/, const PutRequest& request) {
            done_.send(rank_of(request.asker), request.asker.id, std::uint64_t{0});
          },
          [] {}, named("large put"), made_at) {
  got_large_.leave_unchecked();  // see on_got_large()
  core_.bases_ = bases_.data();
  if (here_ != nullptr) here_->add(key(), core_);
  team_.add(*this);
}

AmOptions Remote::named(const char* what) const {
  return team::model_options(fmt::format("memory '{}': {}", name_, what));
}

Remote::~Remote() {
  team_.remove(*this);
  end_reach();
  std::vector<sync::Ref<Pending>> unanswered;
  requests_.for_each([&unanswered](Request& request) {
    if (request.pending != nullptr) unanswered.push_back(std::move(request.pending));
  });
  for (const sync::Ref<Pending>& pending : unanswered) {
    pending->break_off();
    pending->end_one();
  }
}

void Remote::close_handlers() {
  team_.close_handlers(std::array{tell_.number(), got_.number(), done_.number(), refused_.number(),
                                  got_large_.number(), ask_.number(), get_.number(), put_.number(),
                                  word_.number(), batch_.number(), allocate_.number(),
                                  free_.number(), declare_.number(), put_large_.number()});
}

std::uint32_t Remote::id() const {
  const std::uint64_t mixed =
      (team_.id() * 0x9E3779B97F4A7C15U + ask_.number() + 1) * 0xD6E8FEB86659FD93U +
      ask_.signature() * 0x9E3779B97F4A7C15U;
  // Memories of one world differ whatever its number is.
  const std::uint64_t world = defaults_of(team_).world * 0x9E3779B97F4A7C15U;
  return static_cast<std::uint32_t>((mixed ^ world) >> 32U) | 1U;
}

// --- what precedes an access: checks, and the registration of a request

const char* to_text(Access access) {
  switch (access) {
    case Access::get:
    case Access::get_range:
      return "get";
    case Access::put:
      return "put";
    case Access::gather:
      return "gather";
    case Access::scatter:
      return "scatter";
    case Access::load:
      return "load";
    case Access::cached:
      return "get() of a cache";
    default:
      return "operation on a word";
  }
}

std::string Remote::owner_text(const char* heap) const {
  return fmt::format("memory '{}': {} heap of rank {}", name_, heap, core_.rank_);
}

// Every access comes through check_range() from then on.
bool Remote::run_ended() {
  run_has_ended_ = true;
  for (int rank = 0; rank < core_.size_; ++rank) {
    // relaxed: no thread of the run is left
    std::atomic<std::byte*>& base = core_.bases_[rank];
    if (base.load(std::memory_order_relaxed) != nullptr) {
      base.store(nullptr, std::memory_order_relaxed);
    }
  }
  return true;  // of the program: it is destroyed later
}

void Remote::check_runs() const {
  if (run_has_ended_) team::refuse_after_run(fmt::format("memory '{}'", name_));
}

void Remote::check_range(const Range& range, const char* what) const {
  if (run_has_ended_ || range.rank < 0 || range.rank >= core_.size_ ||
      range.offset > core_.heap_bytes_ || range.extent_bytes() > core_.heap_bytes_ - range.offset)
      [[unlikely]] {
    refuse_range(range, what);
  }
}

void Remote::refuse_range(const Range& range, const char* what) const {
  check_runs();
  if (range.rank < 0 || range.rank >= core_.size_) {
    team_.refuse_rank(fmt::format("memory '{}': {}", name_, what), range.rank);
  }
  throw CheckError(
      fmt::format("memory '{}': {} of {} bytes at {:#x} of rank {}: the heap ends at {:#x}", name_,
                  what, range.extent_bytes(), range.offset, range.rank, core_.heap_bytes_));
}

void Remote::check_here(const Range& range, const char* what) const {
  if (!checks_ || range.extent_bytes() == 0) return;
  const std::string problem = heap_.problem_with(range.offset, range.extent_bytes());
  if (problem.empty()) return;
  throw CheckError(
      fmt::format("memory '{}': {} of rank {}: {}", name_, what, core_.rank_, problem));
}

void Remote::note_write(const Range& range, std::int64_t rank) {
  if (checks_) heap_.note_write(range.offset, range.extent_bytes(), static_cast<int>(rank));
}

Asker Remote::begin(Pending& pending, int target, std::byte* to, std::uint64_t size_bytes,
                    std::span<const Element> elements) {
  pending.add();
  request_count_.fetch_add(1, std::memory_order_relaxed);
  request_bytes_.fetch_add(size_bytes, std::memory_order_relaxed);
  add_reference(&pending);
  return {requests_.add({sync::Ref<Pending>(&pending), to, size_bytes, target, elements}),
          core_.rank_};
}

// --- requests

void Remote::get(const Range& from, std::byte* to, Pending& pending) {
  check_range(from, "get");
  if (strand_base(from.rank) != nullptr) return get_on_strand(from, to, pending);
  if (const std::uint64_t address = window_address(from); address != 0) {
    return get_by_window(from, address, to, pending);
  }
  for_parts(from, [&](const Range& part, std::uint64_t at) {
    const Asker asker = begin(pending, part.rank, to + at, part.size_bytes());
    get_.send(Rank(part.rank), GetRequest{asker, is_large(part) ? 1 : 0, part});
  });
}

void Remote::on_get(const GetRequest& request) {
  answer(request.asker, [&] {
    check_here(request.from, "get");
    const std::byte* const begin = place(request.from.offset);
    const std::uint64_t size_bytes = request.from.size_bytes();
    const Rank origin = rank_of(request.asker);
    if (request.large != 0) {
      const Bytes bytes(begin, size_bytes);
      Landing landing{request.asker.id, request.from.offset};
      if (team_.messenger().checks_payloads()) {
        landing.checked = 1;
        landing.checksum = net::checksum_of(bytes);
      }
      got_large_.send(origin, bytes, landing);
    } else if (request.from.count == 1) {
      got_.send(origin, request.asker.id, Bytes(begin, size_bytes));
    } else {
      std::vector<std::byte> bytes(size_bytes);
      gather(bytes.data(), begin, request.from);
      got_.send(origin, request.asker.id, Bytes(bytes));
    }
  });
}

void Remote::on_got(RequestId id, Bytes bytes) {
  const Request request = take(id);
  if (request.pending == nullptr || !request.pending->enter()) return;
  if (const std::size_t count = request.elements.size(); count > 0) {
    const std::size_t each = request.size_bytes / count;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(request.to + request.elements[i].index * each, bytes.data() + i * each, each);
    }
  } else {
    std::memcpy(request.to, bytes.data(), std::min<std::size_t>(bytes.size(), request.size_bytes));
  }
  request.pending->leave();
  request.pending->end_one();
}

// The bytes travel from the heap itself, to which others may write meanwhile: a mistake, unless the
// request was given up.
void Remote::on_got_large(const Landing& landing) const {
  LandingPlace& place = *landing.place;
  if (landing.checked != 0 && place.is_wanted() &&
      net::checksum_of(place.bytes()) != landing.checksum) {
    place.fail(std::make_exception_ptr(CheckError(fmt::format(
        "memory '{}': get of {} bytes at rank {} + {:#x} by rank {}: they changed before the get "
        "had ended: a put, an operation or a pointer of the owner wrote to them. Wait for the get "
        "before the write, or for quiet() and a barrier between the write and the get. If nothing "
        "of the program writes there, the network or its driver damages data",
        name_, place.bytes().size(), place.source(), landing.offset, core_.rank_))));
  }
  place.arrived();
}

void Remote::put(const Range& to, const std::byte* from, Pending& pending) {
  check_range(to, "put");
  if (strand_base(to.rank) != nullptr) return put_on_strand(to, from, pending);
  for_parts(to, [&](const Range& part, std::uint64_t at) {
    if (is_large(part) && !checks_) {
      put_large(part, from + at, pending);
      return;
    }
    const Asker asker = begin(pending, part.rank, nullptr, part.size_bytes());
    put_.send(Rank(part.rank), PutRequest{asker, part}, Bytes(from + at, part.size_bytes()));
  });
}

void Remote::put_large(const Range& to, const std::byte* from, Pending& pending) {
  const Asker asker = begin(pending, to.rank, nullptr, to.size_bytes());
  const PutRequest request{asker, to};
  const Bytes bytes(from, to.size_bytes());
  if (sched::current_task() == nullptr) {  // a handler does not wait
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    put_large_.send(Rank(to.rank), Bytes(*copy), request, on_release([copy] {}));
    return;
  }
  // The caller may reuse its memory on return, or it goes as its stack unwinds: the function is
  // destroyed when nothing reads it any more, also if the team has failed.
  const sync::Ref<Pending> reading(new PendingValue<void>(team_.scheduler()));
  static_cast<void>(reading->enter());
  const auto leave = [](Pending* read) {
    read->leave();
    remove_reference(read);
  };
  add_reference(reading.get());
  std::shared_ptr<Pending> reader(reading.get(), leave);
  put_large_.send(Rank(to.rank), bytes, request, on_release([reader = std::move(reader)] {}));
  reading->abandon();
}

void Remote::on_put(const PutRequest& request, Bytes bytes) {
  answer(request.asker, [&] {
    check_here(request.to, "put");
    scatter(place(request.to.offset), bytes.data(), request.to);
    note_write(request.to, request.asker.rank);
    done_.send(rank_of(request.asker), request.asker.id, std::uint64_t{0});
  });
}

void Remote::word(int rank, std::uint64_t offset, const Word& word, std::uint64_t* result,
                  Pending& pending) {
  if (std::byte* const base = strand_base(rank); base != nullptr && result == nullptr) {
    return word_on_strand(base + offset, word, pending);
  }
  const Asker asker = begin(pending, rank, reinterpret_cast<std::byte*>(result), sizeof(*result));
  word_.send(Rank(rank), WordRequest{asker, offset, word});
}

void Remote::on_word(const WordRequest& request) {
  answer(request.asker, [&] {
    const Range word{core_.rank_, request.offset, word_bytes(request.word.type), 0, 1};
    check_here(word, "operation on a word");
    const std::uint64_t value = apply_word(place(request.offset), request.word);
    if (request.word.op != WordOp::load) note_write(word, request.asker.rank);
    done_.send(rank_of(request.asker), request.asker.id, value);
  });
}

void Remote::on_done(RequestId id, std::uint64_t value) {
  const Request request = take(id);
  if (request.pending == nullptr || !request.pending->enter()) return;
  if (request.to != nullptr) std::memcpy(request.to, &value, sizeof(value));
  request.pending->leave();
  request.pending->end_one();
}

void Remote::on_refused(RequestId id, const std::string& text) {
  const Request request = take(id);
  if (request.pending == nullptr) return;
  const auto error = std::make_exception_ptr(CheckError(text));
  if (!request.pending->refuse(error)) team_.fail("a put that nothing waited for", error);
  request.pending->end_one();
}

void Remote::follow(Pending& pending) {
  const sync::Quiet quiet;  // puts of two tasks are not ordered by this
  const sync::Lock lock(mutex_);
  puts_->add();
  puts_some_ = true;
  pending.then(sync::Ref<Pending>(puts_));
}

// Begins a new group of puts, which ends after the one before; returns that.
sync::Ref<PendingValue<void>> Remote::next_puts() {
  sync::Ref<PendingValue<void>> before = puts_;
  puts_ = sync::Ref(new PendingValue<void>(team_.scheduler()));
  puts_some_ = false;
  puts_->add();  // a later quiet() waits for the earlier ones, too
  before->then_as_group(sync::Ref<Pending>(puts_));
  return before;
}

void Remote::quiet() {
  sync::Ref<PendingValue<void>> before;
  const auto token = [](const sync::Ref<PendingValue<void>>& puts) -> const Pending* {
    return puts.get();  // that of the race detector, as in run_on_strand()
  };
  {
    const sync::Lock lock(mutex_);
    before = next_puts();
    sync::pass_on(token(before), token(puts_));
  }
  Future<void> complete = before->future();
  before->end_one();
  complete.get();
  sync::observe(token(before));
}

GlobalMemoryStatistics Remote::statistics() const {
  const Heap::Use use = heap_.use();
  Heap::Use local;
  {
    const sync::Lock lock(mutex_);
    if (local_) local = local_->use();
  }
  return {request_count_.load(std::memory_order_relaxed),
          request_bytes_.load(std::memory_order_relaxed),
          direct_count_.load(std::memory_order_relaxed),
          rma_count_.load(std::memory_order_relaxed),
          use.count,
          use.bytes,
          local.count,
          local.bytes};
}

// --- reports of waiting requests, and failure

std::uint64_t Remote::unsatisfied_count() const {
  const sync::Lock lock(mutex_);
  return theirs_.size();
}

// Puts that the program has dropped may be under way until the next quiet(), or until nothing is.
std::uint64_t Remote::open_count() const {
  const sync::Lock lock(mutex_);
  return puts_->dropped_count();
}

void Remote::at_rest() {
  sync::Ref<PendingValue<void>> before;
  {
    const sync::Lock lock(mutex_);
    if (!puts_some_) return;
    before = next_puts();
  }
  before->end_one();
}

std::string Remote::title() const { return fmt::format("memory '{}'", name_); }

std::vector<std::string> Remote::describe_unsatisfied() const {
  std::vector<std::string> lines;
  std::map<int, std::uint64_t> counts;  // by target
  requests_.for_each([&counts](const Request& request) {
    if (request.pending != nullptr) ++counts[request.target];
  });
  lines.reserve(counts.size());
  for (const auto& [target, count] : counts) {
    lines.push_back(fmt::format("memory '{}': requests to rank {} without an answer: {}", name_,
                                target, count));
  }
  const sync::Lock lock(mutex_);
  for (const auto& [number, made] : theirs_) {
    const int before = (core_.rank_ + core_.size_ - 1) % core_.size_;
    lines.push_back(fmt::format(
        "memory '{}': rank {} has made collective allocation {} of {} bytes, and this rank has not",
        name_, before, number, made.size_bytes));
  }
  return lines;
}

void Remote::give_up(const TeamCore& failed, std::vector<team::GivenUp>& promises) {
  if (&failed != &team_) return;
  requests_.for_each([&promises](Request& request) {
    if (request.pending == nullptr) return;
    promises.emplace_back([pending = std::move(request.pending)](const std::exception_ptr& error) {
      pending->fail(error);
      pending->end_one();
    });
  });
}

}  // namespace shoal::memory
