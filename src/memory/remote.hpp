#pragma once
// Global memory of one rank and its peers: heaps, ways, messages.

#include <shoal/detail/memory/core.hpp>
#include <shoal/detail/sync/numbered_table.hpp>
#include <shoal/detail/team/core.hpp>
#include <shoal/large_message.hpp>
#include <shoal/message.hpp>
#include <shoal/transfer.hpp>

#include "env/shared_memory.hpp"
#include "memory/heap.hpp"
#include "memory/reach.hpp"
#include "net/mpi_transport.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::memory {

/// Copies the blocks, the first of which is at `place`, to contiguous memory.
inline void gather(std::byte* to, const std::byte* place, const Range& range) {
  for (std::uint64_t i = 0; i < range.count; ++i) {
    std::memcpy(to + i * range.block_bytes, place + i * range.stride_bytes, range.block_bytes);
  }
}
/// Copies contiguous memory to the blocks, the first of which is at `place`.
inline void scatter(std::byte* place, const std::byte* from, const Range& range) {
  for (std::uint64_t i = 0; i < range.count; ++i) {
    std::memcpy(place + i * range.stride_bytes, from + i * range.block_bytes, range.block_bytes);
  }
}

/// A request that has no answer.
struct Request {
  sync::Ref<Pending> pending;  // nullptr: none, or the run has failed
  std::byte* to = nullptr;     // where the answer is written; nullptr: it has none
  std::uint64_t size_bytes = 0;
  int target = 0;
  std::span<const Element> elements;  // if any: the answer has these, each for `to` at its index
};
/// Its number, which travels.
using RequestId = std::uint64_t;

/// Place of a rank's heap, for peers on its node.
struct HeapPlace {
  enum class Path : std::int32_t {
    messages,
    shared,  // `name` may be mapped
    window,  // MPI reads at `address`
  };
  std::int32_t rank = 0;
  Path path = Path::messages;
  std::uint64_t address = 0;  // in its own process
  env::SharedMemoryName name;
};

/// A rank that asks for a heap, and its table of addresses.
struct PlaceRequest {
  std::int32_t rank = 0;
  std::int32_t padding = 0;
  env::SharedMemoryName bases;
};

/// Rank that asks, and its number for the request.
struct Asker {
  RequestId id = 0;
  std::int64_t rank = 0;
};
[[nodiscard]] inline Rank rank_of(const Asker& asker) { return Rank(static_cast<int>(asker.rank)); }

struct GetRequest {
  Asker asker;
  std::int64_t large = 0;  // 1: the answer is a large message
  Range from;
};
struct PutRequest {
  Asker asker;
  Range to;
};
struct WordRequest {
  Asker asker;
  std::uint64_t offset = 0;
  Word word;
};
struct BatchRequest {
  Asker asker;
  BatchOp op;
};
struct AllocateRequest {
  Asker asker;
  std::uint64_t size_bytes = 0;
  std::uint64_t alignment = 0;
};
/// A collective allocation, as the rank before has made it.
struct Declaration {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t heap_bytes = 0;
  std::uint64_t layout = 0;  // of the elements of a vector
  std::string place{};       // in the program

  template <class Archive>
  void serialize(Archive& archive) {
    archive(number, offset, size_bytes, heap_bytes, layout, place);
  }
};

/// Number of the request of a large answer; at the receiver also the owner of its memory.
struct Landing {
  RequestId id = 0;
  std::uint64_t offset = 0;   // where the bytes were read
  std::uint64_t checked = 0;  // 1: `checksum` is that of the bytes when they were read
  std::uint64_t checksum = 0;
  // Set by the buffer function, for as long as the payload travels.
  mutable std::shared_ptr<class LandingPlace> place{};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(id, offset, checked, checksum);
  }
};

class Remote final : private team::Unsatisfied {
 public:
  /// `made_at`: in the program, where it made the memory.
  Remote(Core& core, const GlobalMemoryOptions& options, const std::source_location& made_at);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  [[nodiscard]] Heap& heap() { return heap_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool checks() const { return checks_; }
  /// Throws CheckError after the end of the run.
  void check_runs() const;
  /// Equal on all ranks, and unlike that of other memories.
  [[nodiscard]] std::uint32_t id() const;

  /// Returns the last rank that wrote a range, see Core::last_writer().
  [[nodiscard]] std::optional<int> last_writer(std::uint64_t offset,
                                               std::uint64_t size_bytes) const {
    return heap_.last_writer(offset, size_bytes);
  }

  /// Lets direct() reach the heap of the caller's rank.
  void open_own();
  /// Returns the address of a range in this process, see Core::reach().
  [[nodiscard]] std::byte* reach(const Range& range, Access access);
  void get(const Range& from, std::byte* to, Pending& pending);
  void put(const Range& to, const std::byte* from, Pending& pending);
  void word(int rank, std::uint64_t offset, const Word& word, std::uint64_t* result,
            Pending& pending);
  void batch(std::span<Element> elements, const BatchOp& op, std::byte* data, Pending& pending);
  void follow(Pending& pending);
  void quiet();
  [[nodiscard]] sync::Ref<PendingValue<void>> next_puts() SHOAL_REQUIRES(mutex_);

  [[nodiscard]] std::uint64_t allocate_collectively(std::size_t size_bytes, std::size_t alignment,
                                                    std::uint64_t layout,
                                                    const std::source_location& made_at);
  [[nodiscard]] Future<std::uint64_t> allocate_on(Rank rank, std::size_t size_bytes,
                                                  std::size_t alignment);
  void free(Rank rank, std::uint64_t offset);
  [[nodiscard]] std::byte* allocate_locally(std::size_t size_bytes, std::size_t alignment);
  void free_locally(const void* place);
  [[nodiscard]] GlobalMemoryStatistics statistics() const;

 private:
  enum class Path : std::uint8_t { unknown, asking, direct, messages };
  struct Peer {
    Path path = Path::unknown;
    std::uint64_t window = 0;  // address there of a heap that MPI may read; 0: it may not
    std::unique_ptr<env::SharedMemory> mapping;  // of another process's heap
    sync::Ref<PendingValue<void>> asked;         // ends when the path is known
    Future<void> known;
  };
  using Bytes = std::span<const std::byte>;
  using Offsets = std::span<const std::uint64_t>;
  template <class... Ws>
  using Am = ActiveMessage<Ws...>;

  [[nodiscard]] std::byte* place(std::uint64_t offset) const { return heap_.data() + offset; }
  [[nodiscard]] std::string owner_text(const char* heap) const;
  [[nodiscard]] AmOptions named(const char* what) const;
  [[nodiscard]] bool may_be_near(int rank) const;
  Path connect(int rank);
  void on_asked(const PlaceRequest& request);
  [[nodiscard]] bool lend_to(const PlaceRequest& request);
  void end_reach();
  [[nodiscard]] CoresHere::Key key() const { return {team_.id(), ask_.number()}; }
  [[nodiscard]] std::byte* take_base(const HeapPlace& place, bool is_here, Peer& peer);
  void tell(int origin, HeapPlace::Path path);
  void tell_when_exposed(int origin);
  void on_exposed();
  void on_place(const HeapPlace& place);

  // Gets by the transport's own access to memory, see reach.cpp. window_address(): 0: by
  // messages.
  [[nodiscard]] std::uint64_t window_address(const Range& from);
  struct WindowGet;
  void get_by_window(const Range& from, std::uint64_t address, std::byte* to, Pending& pending);
  void end_window_get(RequestId id, std::uint64_t offset, WindowGet& get);

  void one_of_batch(const Element& element, const BatchOp& op, std::byte* data, Pending& pending);
  void batch_of_rank(std::span<const Element> elements, const BatchOp& op, std::byte* data,
                     Pending& pending);
  Asker begin(Pending& pending, int target, std::byte* to, std::uint64_t size_bytes,
              std::span<const Element> elements = {});
  // With --sim-races: accesses by strands of their own. Each comes behind the caller so far, and
  // before what the end of `pending` comes before. nullptr: `rank` is reached by messages.
  [[nodiscard]] std::byte* strand_base(int rank) const;
  void get_on_strand(const Range& from, std::byte* to, Pending& pending) const;
  void put_on_strand(const Range& to, const std::byte* from, Pending& pending) const;
  void word_on_strand(std::byte* place, const Word& word, Pending& pending) const;
  template <class F>
  void run_on_strand(const char* what, Pending& pending, F f) const;
  [[nodiscard]] Heap& local_heap();
  void put_large(const Range& to, const std::byte* from, Pending& pending);
  /// Throws CheckError after the end of the run, or if no heap has such a range.
  void check_range(const Range& range, const char* what) const;
  [[noreturn, gnu::noinline, gnu::cold]] void refuse_range(const Range& range,
                                                           const char* what) const;
  /// Throws CheckError if the range is not allocated here; with checks on only.
  void check_here(const Range& range, const char* what) const;
  /// Keeps the writer of a range here; with checks on only.
  void note_write(const Range& range, std::int64_t rank);
  void on_get(const GetRequest& request);
  void on_got(RequestId id, Bytes bytes);
  void on_got_large(const Landing& landing) const;
  void on_put(const PutRequest& request, Bytes bytes);
  void on_word(const WordRequest& request);
  void on_batch(const BatchRequest& request, Offsets offsets, Bytes values);
  void change(const BatchRequest& request, std::uint64_t offset, const std::byte* value);
  void on_done(RequestId id, std::uint64_t value);
  void on_refused(RequestId id, const std::string& text);
  void on_allocate(const AllocateRequest& request);
  void on_declared(const Declaration& declaration);
  void compare(const Declaration& mine, const Declaration& theirs) const;
  /// Takes the request out; without `pending`: there is no such request.
  [[nodiscard]] Request take(RequestId id) { return requests_.take(id).value_or(Request()); }
  /// Runs f(), and sends the asker a refusal if it throws.
  template <class F>
  void answer(const Asker& asker, F f) {
    try {
      f();
    } catch (const Error& error) {
      refused_.send(Rank(static_cast<int>(asker.rank)), asker.id, std::string(error.what()));
    }
  }

  [[nodiscard]] std::uint64_t unsatisfied_count() const override;
  [[nodiscard]] std::uint64_t open_count() const override;
  void at_rest() override;
  [[nodiscard]] bool is_in_use() const override { return open_count() > 0; }
  [[nodiscard]] std::string title() const override;
  void close_handlers() override;
  bool run_ended() override;
  void attempts_begin() override;
  [[nodiscard]] std::vector<std::string> describe_unsatisfied() const override;
  void give_up(const TeamCore& failed, std::vector<team::GivenUp>& promises) override;

  Core& core_;
  TeamCore& team_;
  bool run_has_ended_ = false;  // written when no thread of the run is left
  bool has_attempts_ SHOAL_GUARDED_BY(mutex_) = false;
  const std::string name_;
  const bool checks_;
  const bool may_share_;
  const std::size_t local_heap_bytes_;
  net::RemoteMemory* const windows_;       // nullptr: all gets from other nodes go by messages
  const std::size_t rma_bytes_;            // of the smallest get that MPI does
  const std::shared_ptr<CoresHere> here_;  // nullptr: there are none
  Heap heap_;
  const Bases bases_;
  mutable sync::NumberedTable<Request> requests_;

  mutable sync::Mutex mutex_;
  std::optional<Heap> local_ SHOAL_GUARDED_BY(mutex_);
  std::map<int, Peer> peers_ SHOAL_GUARDED_BY(mutex_);
  bool exposed_ SHOAL_GUARDED_BY(mutex_) = false;                // peers may read the heap by MPI
  std::vector<int> askers_ SHOAL_GUARDED_BY(mutex_);             // that wait until they may
  std::vector<Bases> lent_to_ SHOAL_GUARDED_BY(mutex_);          // ranks of other processes
  sync::Ref<PendingValue<void>> puts_ SHOAL_GUARDED_BY(mutex_);  // since the last quiet() or rest
  bool puts_some_ SHOAL_GUARDED_BY(mutex_) = false;              // there are some
  // Collective allocations not yet compared with the next rank, and those of the previous rank.
  std::uint64_t made_ SHOAL_GUARDED_BY(mutex_) = 0;
  std::deque<Declaration> mine_ SHOAL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, Declaration> theirs_ SHOAL_GUARDED_BY(mutex_);

  // relaxed: statistics
  std::atomic<std::uint64_t> request_count_{0};
  std::atomic<std::uint64_t> request_bytes_{0};
  std::atomic<std::uint64_t> direct_count_{0};
  std::atomic<std::uint64_t> rma_count_{0};

  // The last members: their handlers use the others, and may run at once. Answers come first.
  const Am<HeapPlace> tell_;
  const Am<RequestId, Bytes> got_;
  const Am<RequestId, std::uint64_t> done_;
  const Am<RequestId, std::string> refused_;
  const LargeMessage<std::byte, Landing> got_large_;
  const Am<PlaceRequest> ask_;
  const Am<GetRequest> get_;
  const Am<PutRequest, Bytes> put_;
  const Am<WordRequest> word_;
  const Am<BatchRequest, Offsets, Bytes> batch_;
  const Am<AllocateRequest> allocate_;
  const Am<std::uint64_t> free_;
  const Am<Declaration> declare_;
  const LargeMessage<std::byte, PutRequest> put_large_;
};

}  // namespace shoal::memory
