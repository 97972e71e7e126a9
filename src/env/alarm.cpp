#include "env/alarm.hpp"

#include <shoal/error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "env/host.hpp"
#include "env/start_thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace shoal::env {

namespace {

// The counter of an eventfd: rings of threads are added to the low half, signals to the high one.
constexpr std::uint64_t kThreadRing = 1;
constexpr std::uint64_t kSignalRing = std::uint64_t{1} << 32U;

int open_eventfd() {
  const int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) {
    throw Error(
        fmt::format("no descriptor for an alarm: {}", std::generic_category().message(errno)));
  }
  return descriptor;
}

// Async-signal-safe. If the counter is full, it has rung already, so nothing is lost.
void add(int descriptor, std::uint64_t value) {
  [[maybe_unused]] const auto written = write(descriptor, &value, sizeof value);
}

// Signals belong to the process, and so do their handlers.
constexpr int kSlots = 64;
constexpr int kFree = -1;
struct Slot {
  std::atomic<int> signal{0};          // written before the descriptor
  std::atomic<int> descriptor{kFree};  // of an alarm
};
struct OneSignal {
  int users = 0;
  struct sigaction before {};                // what it did
  std::atomic<void (*)(int)> next{nullptr};  // called by the handler in its turn
};
struct SignalState {
  std::array<Slot, kSlots> slots;       // the handler reads
  std::atomic<int> handlers{0};         // how many run
  std::mutex mutex;                     // for all below, and to write slots
  std::array<OneSignal, NSIG> signals;  // `next` is read by the handler
};
SignalState& state() {
  // Never destroyed: a signal may come at any time.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
  static auto* const state = new SignalState;
  return *state;
}
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): what a handler can reach
constinit std::atomic<SignalState*> g_state{nullptr};

// seq_cst throughout: a slot is given back by writing kFree and then looking at `handlers`, the
// handler raises `handlers` and then looks at the slots, so no descriptor is used once it is
// closed.
void handle(int signal) {
  SignalState* const s = g_state.load();
  if (s == nullptr) return;
  const int before = errno;
  s->handlers.fetch_add(1);
  for (const Slot& slot : s->slots) {
    const int descriptor = slot.descriptor.load();
    if (descriptor != kFree && slot.signal.load() == signal) add(descriptor, kSignalRing);
  }
  s->handlers.fetch_sub(1);
  auto* const next = s->signals[static_cast<std::size_t>(signal)].next.load();
  if (next != nullptr) next(signal);
  errno = before;
}

bool handler_is(int signal, void (*wanted)(int)) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == wanted;
}

// MPICH installs a handler for SIGUSR1, with which its launcher reports failed processes: not a
// choice of the program.
bool is_of_mpi_library(void (*handler)(int)) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(handler), &info) == 0 || info.dli_fname == nullptr) {
    return false;
  }
  const std::string_view path(info.dli_fname);
  return path.substr(path.rfind('/') + 1).starts_with("libmpi");
}

// sigaction() tells what they do, but sets nothing.
bool can_be_caught(int signal) { return signal != SIGKILL && signal != SIGSTOP; }

// Whether the program has left the signal to others.
bool may_take(const struct sigaction& now) {
  if ((now.sa_flags & SA_SIGINFO) != 0) return false;
  return now.sa_handler == SIG_DFL ||
         (now.sa_handler != SIG_IGN && is_of_mpi_library(now.sa_handler));
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

Alarm::Alarm() : descriptor_(open_eventfd()) {}

Alarm::~Alarm() { close(descriptor_); }

void Alarm::ring() { add(descriptor_, kThreadRing); }

Alarm::Rung Alarm::wait(std::uint64_t timeout_ns) {
  constexpr std::uint64_t kMaxMs = std::numeric_limits<int>::max();
  const std::uint64_t whole_ms = timeout_ns / 1'000'000 + (timeout_ns % 1'000'000 != 0 ? 1 : 0);
  const auto timeout_ms = static_cast<int>(std::min(whole_ms, kMaxMs));
  pollfd entry{descriptor_, POLLIN, 0};
  // Interrupted, it returns early: the caller waits again.
  static_cast<void>(poll(&entry, 1, timeout_ms));
  std::uint64_t count = 0;
  if (read(descriptor_, &count, sizeof count) != sizeof count) return {};
  return {count % kSignalRing != 0, count >= kSignalRing};
}

AlarmOnSignal::AlarmOnSignal(int signal, Alarm& alarm) : signal_(signal) {
  if (signal <= 0 || signal >= NSIG || !can_be_caught(signal)) return;
  SignalState& s = state();
  const std::lock_guard lock(s.mutex);
  OneSignal& one = s.signals[static_cast<std::size_t>(signal)];
  const bool ours = one.users > 0 && handler_is(signal, &handle);
  if (!ours && one.users > 0) return;
  struct sigaction now {};
  if (!ours && (sigaction(signal, nullptr, &now) != 0 || !may_take(now))) return;
  const auto slot = std::find_if(s.slots.begin(), s.slots.end(), [](const Slot& candidate) {
    return candidate.descriptor.load() == kFree;
  });
  if (slot == s.slots.end()) return;
  slot->signal.store(signal);
  slot->descriptor.store(alarm.descriptor());
  slot_ = static_cast<int>(slot - s.slots.begin());
  ++one.users;
  g_state.store(&s);
  if (ours) return;
  one.before = now;
  one.next.store(now.sa_handler == SIG_DFL ? nullptr : now.sa_handler);
  set_handler(signal, &handle);
}

AlarmOnSignal::~AlarmOnSignal() {
  if (slot_ < 0) return;
  SignalState& s = state();
  const std::lock_guard lock(s.mutex);
  OneSignal& one = s.signals[static_cast<std::size_t>(signal_)];
  // The action is restored unless the program has changed it since.
  if (--one.users == 0 && handler_is(signal_, &handle)) sigaction(signal_, &one.before, nullptr);
  s.slots[static_cast<std::size_t>(slot_)].descriptor.store(kFree);
  while (s.handlers.load() != 0) std::this_thread::yield();
}

struct Thread::Impl {
  std::thread thread;
};

Thread::Thread(const std::string& name, const std::string& purpose, Function<void()> function)
    : impl_(std::make_unique<Impl>(Impl{start_thread(name, purpose, std::move(function))})) {}

Thread::~Thread() { impl_->thread.join(); }

ExitDeadline::ExitDeadline(std::uint64_t timeout_ns, std::string text, int exit_code)
    : timeout_ns_(timeout_ns),
      text_(std::move(text)),
      exit_code_(exit_code),
      thread_("shoal deadline", "the deadline of --stall-abort", [this] { run(); }) {}

ExitDeadline::~ExitDeadline() {
  met_.store(true, std::memory_order_seq_cst);
  alarm_.ring();
}

void ExitDeadline::run() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout_ns_);
  while (!met_.load(std::memory_order_seq_cst)) {
    const auto left = std::chrono::nanoseconds(end - Clock::now()).count();
    if (left <= 0) {
      write_to_standard_error(text_);
      std::_Exit(exit_code_);
    }
    alarm_.wait(static_cast<std::uint64_t>(left));
  }
}

}  // namespace shoal::env
