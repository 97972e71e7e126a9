#include "env/stack_memory.hpp"

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <locale>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "env/freed_memory.hpp"

namespace shoal::env {

namespace {

// Linux 6.13, include/uapi/asm-generic/mman-common.h; older headers do not name it.
constexpr int kMadviseGuardInstall = 102;

constexpr std::size_t kSlabStacksMin = 4;
constexpr std::size_t kSlabStacksMax = 64;

std::size_t in_whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// How many mappings guards may take: two each, and some thousand are left for others.
std::size_t mapped_guards_max() {
  constexpr std::size_t kDefault = 65530;
  constexpr std::size_t kReserve = 4096;
  std::size_t limit = kDefault;
  std::ifstream file("/proc/sys/vm/max_map_count");
  file.imbue(std::locale::classic());
  file >> limit;
  return (std::max(limit, 2 * kReserve) - kReserve) / 2;
}

[[noreturn]] void throw_no_stack(std::size_t count, std::size_t bytes, const std::string& why) {
  throw Error(
      fmt::format("no stack for another task that waits: {} stacks of {} KiB are in use, and {}",
                  count, bytes / 1024, why));
}

}  // namespace

StackMemory::StackMemory(std::size_t stack_bytes, Guards guards, std::size_t mapped_max,
                         std::shared_ptr<GuardCount> mapped)
    : guard_bytes_(in_whole_pages(kGuardBytes)),
      stack_bytes_(in_whole_pages(stack_bytes) + guard_bytes_),
      guards_(guards),
      mapped_max_(mapped_max),
      mapped_(mapped != nullptr ? std::move(mapped) : std::make_shared<GuardCount>(0)) {}

StackMemory::~StackMemory() {
  for (const Slab& slab : slabs_) {
    if (slab.kept) continue;
    forget_frames(slab.begin, slab.size_bytes);  // the next mapping must not inherit marks
    munmap(slab.begin, slab.size_bytes);
  }
  mapped_->fetch_sub(mapped_here_, std::memory_order_relaxed);
}

void StackMemory::add_slab() {
  const std::size_t stacks = std::clamp(count_, kSlabStacksMin, kSlabStacksMax);
  Slab slab{nullptr, stacks * stack_bytes_};
  slabs_.reserve(slabs_.size() + 1);
  void* const memory = mmap(nullptr, slab.size_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw_no_stack(count_, stack_bytes_ - guard_bytes_,
                   fmt::format("the system has no address space for more ({}): let fewer tasks "
                               "wait at once, or choose a smaller --stack-bytes",
                               std::generic_category().message(errno)));
  }
  slab.begin = static_cast<std::byte*>(memory);
  // A task that touches one page must not take 2 MiB. Kernels without huge pages refuse.
  static_cast<void>(madvise(memory, slab.size_bytes, MADV_NOHUGEPAGE));
  slabs_.push_back(slab);
  left_in_slab_ = stacks;
}

Stack StackMemory::allocate() {
  if (left_in_slab_ == 0) add_slab();
  const Slab& slab = slabs_.back();
  std::byte* const place = slab.begin + slab.size_bytes - left_in_slab_ * stack_bytes_;
  guard(place);
  --left_in_slab_;
  ++count_;
  return {place + guard_bytes_, stack_bytes_ - guard_bytes_};
}

void StackMemory::guard(std::byte* place) {
  if (guards_ == Guards::automatic) {
    if (madvise(place, guard_bytes_, kMadviseGuardInstall) == 0) return;
    guards_ = Guards::mapped;
  }
  if (mapped_max_ == 0) mapped_max_ = mapped_guards_max();
  const std::size_t others = mapped_->fetch_add(1, std::memory_order_relaxed);
  if (others >= mapped_max_ || mprotect(place, guard_bytes_, PROT_NONE) != 0) {
    mapped_->fetch_sub(1, std::memory_order_relaxed);
    throw_no_stack(count_, stack_bytes_ - guard_bytes_,
                   "each takes two of the memory mappings that the kernel allows a process "
                   "(sysctl vm.max_map_count): raise that limit, or let fewer tasks wait at once");
  }
  ++mapped_here_;
}

void StackMemory::keep(const Stack& stack) {
  for (Slab& slab : slabs_) {
    if (stack.bottom > slab.begin && stack.bottom < slab.begin + slab.size_bytes) slab.kept = true;
  }
}

// --- faults

namespace {

/// Action for a signal before it was watched.
struct OldAction {
  struct sigaction action {};
  bool ends_process = false;
};

// State of the signal handler; set while any FaultWatch lives.
struct FaultState {
  std::mutex mutex;
  int watches = 0;  // guarded by mutex
  OldAction segv;   // written before the handler can run
  OldAction bus;    // likewise
  std::atomic<FaultExplainer> explain{nullptr};
};

// A signal handler can be given nothing.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
FaultState fault_state;

void write_all(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(STDERR_FILENO, text, size);
    if (written <= 0) return;
    text += written;
    size -= static_cast<std::size_t>(written);
  }
}

// A fault of this thread's own instructions; false: some process or thread has sent the signal.
bool is_fault(const siginfo_t& info) { return info.si_code > 0; }

void explain_fault(const Fault& fault) {
  const FaultExplainer explain = fault_state.explain.load(std::memory_order_acquire);
  if (explain == nullptr) return;
  for (const bool names : {false, true}) {  // should a name be damaged, the rest is written
    char text[512];
    write_all(text, explain(fault, names, text, sizeof text));
  }
}

bool has_handler(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

// No handler, or one that only prints a stack trace: of Open MPI, or of UCX below MPICH. A handler
// of the program may repair faults.
bool ends_process(const struct sigaction& action) {
  if (!has_handler(action)) return true;
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(action.sa_handler), &found) == 0) return false;
  const std::string_view file = found.dli_fname != nullptr ? found.dli_fname : "";
  return file.find("libopen-pal") != std::string_view::npos ||
         file.find("libucs") != std::string_view::npos;
}

// libucs has a sigaction() of its own, which leaves its handlers in place.
auto sigaction_of_libc() {
  void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* const found = libc != nullptr ? dlsym(libc, "sigaction") : nullptr;
  using Function = int (*)(int, const struct sigaction*, struct sigaction*);
  return found != nullptr ? reinterpret_cast<Function>(found) : Function{&sigaction};
}

// Explains a fault, and hands every signal on as if this handler were not there: a handler of the
// program is called; else the process dies of the signal, at the instruction that faults again or
// by the signal that is sent again, once it is no longer blocked here.
void on_fault(int signal, siginfo_t* info, void* context) {
  const OldAction& before = signal == SIGSEGV ? fault_state.segv : fault_state.bus;
  const struct sigaction& old = before.action;
  if (is_fault(*info)) explain_fault({signal, info->si_addr, before.ends_process});
  if ((old.sa_flags & SA_SIGINFO) != 0) {
    old.sa_sigaction(signal, info, context);
  } else if (has_handler(old)) {
    old.sa_handler(signal);
  } else if (old.sa_handler == SIG_DFL || is_fault(*info)) {
    std::signal(signal, SIG_DFL);
    if (!is_fault(*info)) static_cast<void>(std::raise(signal));
  }
}

void watch(int signal, OldAction& old) {
  const auto set_action = sigaction_of_libc();
  set_action(signal, nullptr, &old.action);
  old.ends_process = ends_process(old.action);
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  set_action(signal, &action, nullptr);
}

// A handler that the program has set since stays.
void unwatch(int signal, const OldAction& old) {
  const auto set_action = sigaction_of_libc();
  struct sigaction now {};
  set_action(signal, nullptr, &now);
  const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault;
  if (is_ours) set_action(signal, &old.action, nullptr);
}

}  // namespace

FaultWatch::FaultWatch(FaultExplainer explain) {
  stack_t old{};
  sigaltstack(nullptr, &old);
  if ((old.ss_flags & SS_DISABLE) != 0) {
    constexpr std::size_t kHandlerStackBytes = 64UL << 10U;
    memory_.resize(kHandlerStackBytes);
    stack_t mine{};
    mine.ss_sp = memory_.data();
    mine.ss_size = memory_.size();
    installed_ = sigaltstack(&mine, nullptr) == 0;
  }
  const std::lock_guard lock(fault_state.mutex);
  if (++fault_state.watches > 1) return;
  fault_state.explain.store(explain, std::memory_order_release);
  watch(SIGSEGV, fault_state.segv);
  watch(SIGBUS, fault_state.bus);
}

FaultWatch::~FaultWatch() {
  {
    const std::lock_guard lock(fault_state.mutex);
    if (--fault_state.watches == 0) {
      unwatch(SIGSEGV, fault_state.segv);
      unwatch(SIGBUS, fault_state.bus);
      fault_state.explain.store(nullptr, std::memory_order_release);
    }
  }
  if (!installed_) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace shoal::env
