#include "env/machine_watch.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <fstream>
#include <locale>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace shoal::env {

struct MachineWatch::Watched {
  Callback callback;
  int descriptor = -1;           // is due when this can be read
  std::size_t memory_bytes = 0;  // or, if not 0, when more is in use
  // Alarm of a signal; it outlives the code that rings it.
  std::unique_ptr<Alarm> alarm{};
  std::optional<AlarmOnSignal> on_signal{};

  [[nodiscard]] bool is_due() const {
    if (memory_bytes != 0) return resident_bytes() > memory_bytes;
    pollfd entry{descriptor, POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
  }
};

std::size_t resident_bytes() {
  std::size_t size_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream file("/proc/self/statm");
  file.imbue(std::locale::classic());
  file >> size_pages >> resident_pages;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

MachineWatch::MachineWatch() = default;

MachineWatch::~MachineWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.ring();
  thread_ = nullptr;
}

MachineWatch::Id MachineWatch::add(std::unique_ptr<Watched> watched) {
  Id id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++ids_;
    watched_.emplace(id, std::move(watched));
    if (thread_ == nullptr) {
      thread_ =
          std::make_unique<Thread>("shoal events", "events of the machine", [this] { run(); });
    }
  }
  changed_.ring();
  return id;
}

MachineWatch::Id MachineWatch::when_readable(int descriptor, Callback callback) {
  if (fcntl(descriptor, F_GETFD) < 0) {
    throw Error(fmt::format("descriptor {} cannot be watched: {}", descriptor,
                            std::generic_category().message(errno)));
  }
  auto watched = std::make_unique<Watched>();
  watched->callback = std::move(callback);
  watched->descriptor = descriptor;
  return add(std::move(watched));
}

MachineWatch::Id MachineWatch::when_signal(int signal, Callback callback) {
  auto watched = std::make_unique<Watched>();
  watched->callback = std::move(callback);
  watched->alarm = std::make_unique<Alarm>();
  watched->descriptor = watched->alarm->descriptor();
  watched->on_signal.emplace(signal, *watched->alarm);
  if (!watched->on_signal->is_set()) {
    throw Error(fmt::format(
        "signal {} cannot be watched: there is no such signal, no process can catch it, or the "
        "program handles it",
        signal));
  }
  return add(std::move(watched));
}

MachineWatch::Id MachineWatch::when_memory_above(std::size_t size_bytes, Callback callback) {
  if (size_bytes == 0 || resident_bytes() == 0) {
    throw Error(fmt::format("memory above {} bytes cannot be watched: {}", size_bytes,
                            size_bytes == 0 ? "choose a threshold above 0"
                                            : "the system does not say how much is in use"));
  }
  auto watched = std::make_unique<Watched>();
  watched->callback = std::move(callback);
  watched->memory_bytes = size_bytes;
  return add(std::move(watched));
}

bool MachineWatch::cancel(Id id) {
  std::unique_ptr<Watched> taken;  // restores the signal outside the lock
  {
    const std::lock_guard lock(mutex_);
    auto node = watched_.extract(id);
    if (!node.empty()) taken = std::move(node.mapped());
  }
  changed_.ring();
  return taken != nullptr;
}

std::map<MachineWatch::Id, std::unique_ptr<MachineWatch::Watched>> MachineWatch::take_due() {
  std::map<Id, std::unique_ptr<Watched>> due;
  const std::lock_guard lock(mutex_);
  for (auto it = watched_.begin(); it != watched_.end();) {
    const auto next = std::next(it);
    if (it->second->is_due()) due.insert(watched_.extract(it));
    it = next;
  }
  return due;
}

void MachineWatch::run() {
  constexpr int kMemoryLookMs = 20;
  while (true) {
    std::vector<pollfd> entries{{changed_.descriptor(), POLLIN, 0}};
    int timeout_ms = -1;
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return;
      for (const auto& [id, one] : watched_) {
        if (one->memory_bytes != 0) {
          timeout_ms = kMemoryLookMs;
        } else {
          entries.push_back({one->descriptor, POLLIN, 0});
        }
      }
    }
    static_cast<void>(poll(entries.data(), entries.size(), timeout_ms));
    static_cast<void>(changed_.wait(0));
    for (const auto& [id, one] : take_due()) one->callback();
  }
}

}  // namespace shoal::env
