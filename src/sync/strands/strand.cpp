// Strands for ThreadSanitizer: each is one of its fibers. This file itself is not instrumented.

#include <shoal/detail/sync/strand.hpp>

#include <sanitizer/tsan_interface.h>

#include <sys/mman.h>
#include <sys/single_threaded.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

// Functions of ThreadSanitizer's run-time library, which its headers do not declare.
extern "C" {
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
int __tsan_get_report_mop(void* report, unsigned long index, int* thread, void** address, int* size,
                          int* write, int* atomic, void** trace, unsigned long trace_size);
int __tsan_get_report_data(void* report, const char** description, int* count, int* stack_count,
                           int* mop_count, int* loc_count, int* mutex_count, int* thread_count,
                           int* unique_tid_count, void** sleep_trace, unsigned long trace_size);
}

// Called by ThreadSanitizer's run-time library, which has a weak definition, before it prints a
// report. True: it does not.
namespace __tsan {
class ReportDesc;
bool OnReport(const ReportDesc* report, bool is_suppressed);
}  // namespace __tsan

namespace shoal::sync {

namespace {

constexpr unsigned kNoSync = __tsan_switch_to_fiber_no_sync;
constexpr std::uintptr_t kPageBytes = 4096;
constexpr std::uintptr_t kGapBytes = 16UL << 10U;  // of a stack, for what calls mmap()

struct State {
  void* thread = nullptr;
  int quiet = 0;  // how many Quiets it is in
};

// Where the thread that drives the world is. As thread-local as ThreadSanitizer's own state, which
// it mirrors.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool t_watches = false;
thread_local State* t_strand = nullptr;       // nullptr: between tasks
thread_local const void* t_bottom = nullptr;  // of the stack
// Tokens. Their addresses alone count.
char g_begin;  // published when a world begins, observed by each strand
char g_end;    // published whenever a strand is left
std::uint64_t g_shared[4096];
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void ignore() {
  AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

void heed() {
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

/// Lets a strand be watched for a moment, whatever Quiet it is in.
class Heeded {
 public:
  Heeded() {
    if (t_strand->quiet > 0) heed();
  }
  ~Heeded() {
    if (t_strand->quiet > 0) ignore();
  }
  Heeded(const Heeded&) = delete;
  Heeded& operator=(const Heeded&) = delete;
};

void on_thread(void* thread, void (*call)()) {
  void* const here = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread, kNoSync);
  call();
  __tsan_switch_to_fiber(here, kNoSync);
}

void release(const void* token) { __tsan_release(const_cast<void*>(token)); }
void acquire(const void* token) { __tsan_acquire(const_cast<void*>(token)); }

State* make() {
  const Quiet quiet;  // no edge from the strand that runs here
  auto* const state = new State{__tsan_create_fiber(0)};
  on_thread(state->thread, [] { acquire(&g_begin); });
  return state;
}

/// Runs on a strand as long as it lives.
class Stay {
 public:
  explicit Stay(State& strand)
      : thread_(__tsan_get_current_fiber()), strand_(t_strand), depth_(strand.quiet) {
    t_strand = &strand;
    __tsan_switch_to_fiber(strand.thread, kNoSync);
    if (depth_ > 0) heed();
    strand.quiet = 0;
  }
  ~Stay() {
    release(&g_end);
    t_strand->quiet = depth_;
    if (depth_ > 0) ignore();
    __tsan_switch_to_fiber(thread_, kNoSync);
    t_strand = strand_;
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  void* const thread_;
  State* const strand_;
  const int depth_;  // of the strand's Quiets
};

// Stacks are used again and again, by strands that have nothing to do with each other, so the
// recorded accesses to their memory must go: memory that is mapped anew has no past. The frames of
// the caller and of the callees here fit into the gap; no living object is below it.
void forget_stack_below(std::uintptr_t here) {
  const auto begin = reinterpret_cast<std::uintptr_t>(t_bottom);
  const std::uintptr_t end = (here - kGapBytes) & ~(kPageBytes - 1);
  if (begin == 0 || end <= begin) return;
  auto* const memory = reinterpret_cast<void*>(begin);
  ::mmap(memory, end - begin, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_FIXED, -1, 0);
  ::madvise(memory, end - begin, MADV_NOHUGEPAGE);  // as in env::StackMemory
}

/// Before and after a strand uses the stack below a frame.
class CleanStack {
 public:
  explicit CleanStack(std::uintptr_t here) : here_(here) { forget_stack_below(here_); }
  ~CleanStack() { forget_stack_below(here_); }
  CleanStack(const CleanStack&) = delete;
  CleanStack& operator=(const CleanStack&) = delete;

 private:
  const std::uintptr_t here_;
};

struct Call {
  void (*function)(void*);
  const void* argument;
  std::size_t size_bytes;
};

[[gnu::noinline]] void call_on(State& strand, const Call& call) {
  auto* const copy = static_cast<volatile std::byte*>(__builtin_alloca(call.size_bytes));
  for (std::size_t i = 0; i < call.size_bytes; ++i) {
    copy[i] = static_cast<const std::byte*>(call.argument)[i];
  }
  const Stay stay(strand);
  call.function(const_cast<std::byte*>(copy));
}

// Leaves the gap behind.
[[gnu::noinline]] void call_below_gap(State& strand, const Call& call) {
  void* const gap = __builtin_alloca(kGapBytes + kPageBytes);
  asm volatile("" : : "r"(gap) : "memory");  // all of it is needed
  call_on(strand, call);
  asm volatile("" : : "r"(gap) : "memory");
}

}  // namespace

namespace detail {

bool watches_strands() { return t_watches; }
void* current_strand() { return t_strand; }

void run_on_strand(void*& strand, void (*call)(void*), const void* argument,
                   std::size_t size_bytes) {
  if (!t_watches) return call(const_cast<void*>(argument));
  if (strand == nullptr) strand = make();
  auto& state = *static_cast<State*>(strand);
  if (&state == t_strand) {
    const Aloud aloud;
    return call(const_cast<void*>(argument));
  }
  const Quiet quiet;
  const CleanStack clean(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  call_below_gap(state, {call, argument, size_bytes});
}

void name_strand(void*& strand, const char* name) {
  if (!t_watches) return;
  if (strand == nullptr) strand = make();
  __tsan_set_fiber_name(static_cast<State*>(strand)->thread, name);
}

void end_strand(void*& strand) {
  if (strand == nullptr) return;
  auto* const state = static_cast<State*>(std::exchange(strand, nullptr));
  if (state->quiet > 0) on_thread(state->thread, &heed);  // abandoned
  __tsan_destroy_fiber(state->thread);
  delete state;
}

void publish(const void* token) {
  if (t_strand == nullptr) return;
  const Heeded heeded;
  release(token);
}

void observe(const void* token) {
  if (t_strand == nullptr) return;
  const Heeded heeded;
  acquire(token);
}

void pass_on(const void* from, const void* to) {
  if (!t_watches) return;
  Strand carrier;
  carrier.run([from, to] {
    acquire(from);
    release(to);
  });
}

void observe_all() { observe(&g_end); }

const void* shared_token(std::uint64_t number) {
  return &g_shared[number * 0x9E3779B97F4A7C15U >> 52U];
}

void begin_quiet() {
  if (t_strand != nullptr && t_strand->quiet++ == 0) ignore();
}

void end_quiet() {
  if (t_strand != nullptr && --t_strand->quiet == 0) heed();
}

int lift_quiet() {
  if (t_strand == nullptr || t_strand->quiet == 0) return 0;
  heed();
  return std::exchange(t_strand->quiet, 0);
}

void restore_quiet(int depth) {
  if (depth == 0) return;
  t_strand->quiet = depth;
  ignore();
}

}  // namespace detail

StrandWatch::StrandWatch(bool on) : on_(on) {
  if (!on_) return;
  __libc_single_threaded = 0;  // std::shared_ptr counts without atomic operations otherwise
  release(&g_begin);
  ignore();
  t_watches = true;
}

StrandWatch::~StrandWatch() {
  if (!on_) return;
  t_watches = false;
  heed();
  acquire(&g_end);
}

namespace detail {

// Tasks of one thread share its errno, and each uses it without a wait in between. Their accesses
// to it are no race.
bool is_of_errno(const __tsan::ReportDesc* report) {
  if (!t_watches) return false;
  void* const desc = const_cast<__tsan::ReportDesc*>(report);
  const char* description = nullptr;
  int counts[7] = {};
  void* trace[1] = {};
  __tsan_get_report_data(desc, &description, &counts[0], &counts[1], &counts[2], &counts[3],
                         &counts[4], &counts[5], &counts[6], trace, 1);
  if (counts[2] == 0) return false;
  int thread = 0;
  void* address = nullptr;
  int size = 0;
  int write = 0;
  int atomic = 0;
  __tsan_get_report_mop(desc, 0, &thread, &address, &size, &write, &atomic, trace, 1);
  return address == &errno;
}

}  // namespace detail

void StackContext::begin(const void* stack_bottom) {
  own_thread_ = __tsan_create_fiber(0);
  thread_ = own_thread_;
  bottom_ = stack_bottom;
  if (t_watches) on_thread(own_thread_, &ignore);
  quiet_ = t_watches;
}

void StackContext::adopt_thread() { thread_ = __tsan_get_current_fiber(); }

void StackContext::leave(const StackContext& to) {
  if (!t_watches) {
    __tsan_switch_to_fiber(to.thread_, 0);
    return;
  }
  if (t_strand != nullptr) publish(&g_end);
  thread_ = __tsan_get_current_fiber();
  strand_ = t_strand;
  __tsan_switch_to_fiber(to.thread_, kNoSync);
}

void StackContext::arrive() const {
  if (!t_watches) return;
  t_strand = static_cast<State*>(strand_);
  t_bottom = bottom_;
}

void StackContext::end() {
  if (own_thread_ == nullptr) return;
  if (quiet_) on_thread(own_thread_, &heed);
  __tsan_destroy_fiber(own_thread_);
}

}  // namespace shoal::sync

bool __tsan::OnReport(const ReportDesc* report, bool is_suppressed) {
  return is_suppressed || shoal::sync::detail::is_of_errno(report);
}
