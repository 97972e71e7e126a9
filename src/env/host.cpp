#include "env/host.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace shoal::env {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::optional<bool> is_virtual_machine() {
#if defined(__x86_64__)
  constexpr unsigned kFeatures = 1;
  constexpr unsigned kHypervisor = 1U << 31U;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(kFeatures, &eax, &ebx, &ecx, &edx) != 0) return (ecx & kHypervisor) != 0;
#endif
  return std::nullopt;
}

std::int64_t stolen_ns() {
  constexpr int kBefore = 7;  // times of all processors before it, in the first line
  std::ifstream file("/proc/stat");
  std::string text;
  file >> text;
  for (int i = 0; i < kBefore; ++i) file >> text;
  std::int64_t ticks = 0;
  const std::int64_t per_second = sysconf(_SC_CLK_TCK);
  if (!(file >> ticks) || per_second <= 0) return 0;
  return ticks * (1'000'000'000 / per_second);
}

namespace {

// The note of the linker (--build-id), in one segment of notes of the program.
std::string id_in_notes(const char* notes, std::size_t size_bytes) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size_bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t data = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && std::string_view(notes + name, 3) == "GNU") {
      const std::string_view id(notes + data, note.n_descsz);
      std::string digits;
      for (const char byte : id) digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return digits;
    }
    at = data + padded(note.n_descsz);
  }
  return "";
}

}  // namespace

std::string program_id() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_NOTE) continue;
          // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives the address as a number.
          const auto* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
          auto* const text = static_cast<std::string*>(result);
          if (text->empty()) *text = id_in_notes(notes, segment.p_memsz);
        }
        return 1;  // the first object is the program; libraries may differ
      },
      &id);
  return id.empty() ? "without a build id" : "build " + id;
}

std::int64_t process_id() { return getpid(); }

std::string program_path() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.native();
}

namespace {

/// Keeps a write to a pipe without a reader from ending the process: the signal that it raises on
/// this thread is taken back.
class NoPipeSignal {
 public:
  NoPipeSignal() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

void write_to_standard_error(std::string_view text) noexcept {
  const NoPipeSignal no_signal;
  std::fflush(stderr);
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0 && errno != EINTR) return;  // no one is left to tell
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_to_standard_error(std::initializer_list<std::string_view> parts) noexcept {
  std::array<char, 4096> text{};  // what a pipe takes at once
  std::size_t used = 0;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const std::size_t fits = part.copy(text.data() + used, text.size() - used);
      part.remove_prefix(fits);
      used += fits;
      if (used < text.size()) continue;
      write_to_standard_error(std::string_view(text.data(), used));
      used = 0;
    }
  }
  write_to_standard_error(std::string_view(text.data(), used));
}

void write_to_standard_output(std::string_view text) {
  errno = 0;
  std::cout.flush();  // the program may have set it apart from stdout
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && !std::cout.bad()) return;
  throw Error(fmt::format(
      "cannot write to standard output: {}",
      errno != 0 ? std::generic_category().message(errno) : "what was printed before is lost"));
}

void open_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is that of the closed stream. It is opened in the wrong direction, so
    // that its use fails.
    static_cast<void>(open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void sleep_for(std::uint64_t duration_ns) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns));
}

void run_in_silent_child(FunctionRef<void()> function) {
  std::fflush(nullptr);  // or the child would write what is buffered a second time
  const pid_t child = fork();
  if (child < 0) {
    throw Error(fmt::format("no second process: {}", std::generic_category().message(errno)));
  }
  if (child > 0) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return;
  }
  const bool silent = std::freopen("/dev/null", "w", stdout) != nullptr &&
                      std::freopen("/dev/null", "w", stderr) != nullptr;
  try {
    // The behaviour of the program must not depend on addresses: let them differ.
    const std::vector<char> shift(12'345);
    if (silent) function();
  } catch (...) {  // the parent runs into it, too
  }
  _exit(0);
}

}  // namespace shoal::env
