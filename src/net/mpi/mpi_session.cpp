#include "net/mpi/mpi_session.hpp"

#include <shoal/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "net/mpi/mpi_check.hpp"

namespace shoal::net {

// One thread at a time calls MPI, under the engine's lock. MULTIPLE makes MPI lock as well, and
// some lock from FUNNELED on.
int wanted_thread_level(ProgressPolicy policy, bool shared, bool single_threaded) {
  if (policy != ProgressPolicy::main) return shared ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  return single_threaded && !shared ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
}

ThreadDecision decide_threads(ProgressPolicy wanted, int granted, bool shared,
                              bool single_threaded) {
  // The standard orders the levels: SINGLE < FUNNELED < SERIALIZED < MULTIPLE.
  if (granted >= wanted_thread_level(wanted, shared, false)) return {wanted, "", ""};
  if (granted >= MPI_THREAD_SERIALIZED) {
    return {
        wanted,
        "MPI grants MPI_THREAD_SERIALIZED, not MPI_THREAD_MULTIPLE: the program itself must not "
        "call MPI while shoal runs",
        ""};
  }
  if (granted >= MPI_THREAD_FUNNELED) {
    return {ProgressPolicy::main,
            "MPI grants MPI_THREAD_FUNNELED only: messages move when the main thread polls "
            "(--progress main)",
            ""};
  }
  if (single_threaded) return {ProgressPolicy::main, "", ""};
  return {wanted, "",
          "MPI runs at MPI_THREAD_SINGLE, but this process has more than one thread. Call "
          "MPI_Init_thread with MPI_THREAD_MULTIPLE instead of MPI_Init in the program, or use an "
          "MPI library with thread support, or run with one worker and one rank per process"};
}

MpiSession::MpiSession(const MpiOptions& options)
    : policy_(options.progress), main_thread_(std::this_thread::get_id()) {
  SHOAL_CHECK(options.env != nullptr, "the transport over MPI needs an environment");
  SHOAL_CHECK(options.ranks_per_process >= 1, "ranks_per_process is {}, must be at least 1",
              options.ranks_per_process);
  SHOAL_CHECK(options.node_processes >= 1, "node_processes is {}, must be at least 1",
              options.node_processes);
  constexpr auto part_max = std::size_t{1} << 30;
  SHOAL_CHECK(options.chunk_bytes >= 1 && options.chunk_bytes <= part_max,
              "chunk_bytes is {}, must be from 1 to {}", options.chunk_bytes, part_max);
  SHOAL_CHECK(options.link.packet_bytes <= part_max, "packet_bytes is {}, must be at most {}",
              options.link.packet_bytes, part_max);
  const std::string thread_note = initialize(options);
  duplicate(options);
  if (const std::string problem = find_disagreement(options); !problem.empty()) {
    close();  // all processes are here: nobody waits
    throw ConfigError(problem);
  }
  if (!thread_note.empty()) add_note(thread_note, process() == 0);
}

void MpiSession::add_note(std::string note, bool say) {
  if (say) fmt::print(stderr, "shoal: note: {}\n", note);
  notes_.push_back(std::move(note));
}

bool MpiSession::is_up() {
  int initialized = 0;
  int finalized = 0;
  mpi_check(MPI_Initialized(&initialized), {"MPI_Initialized"});
  mpi_check(MPI_Finalized(&finalized), {"MPI_Finalized"});
  return initialized != 0 && finalized == 0;
}

std::string MpiSession::initialize(const MpiOptions& options) {
  int finalized = 0;
  mpi_check(MPI_Finalized(&finalized), {"MPI_Finalized"});
  if (finalized != 0) {
    throw ConfigError("MPI was finalized before shoal started: call MPI_Finalize after shoal::run");
  }
  int granted = MPI_THREAD_SINGLE;
  const bool shared = options.shared_mpi || is_up();
  if (is_up()) {
    mpi_check(MPI_Query_thread(&granted), {"MPI_Query_thread"});
  } else if (options.communicator != nullptr) {
    throw ConfigError(
        "a communicator was given, but MPI is not initialized: call MPI_Init_thread first");
  } else {
    const int wanted = wanted_thread_level(options.progress, shared, options.single_threaded);
    mpi_check(MPI_Init_thread(nullptr, nullptr, wanted, &granted), {"MPI_Init_thread"});
    finalize_ = true;
    // Some MPIs raise the errors of MPI_Test, which is given no communicator, on one of these.
    // Where the program has initialized MPI, they are the program's to set.
    for (const MPI_Comm fallback : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
      mpi_check(MPI_Comm_set_errhandler(fallback, MPI_ERRORS_RETURN), {"MPI_Comm_set_errhandler"});
    }
  }
  const ThreadDecision decision =
      decide_threads(options.progress, granted, shared, options.single_threaded);
  policy_ = decision.policy;
  thread_error_ = decision.error;
  return decision.note;
}

void MpiSession::duplicate(const MpiOptions& options) {
  MPI_Comm parent = MPI_COMM_WORLD;
  if (options.communicator != nullptr) parent = *static_cast<const MPI_Comm*>(options.communicator);
  mpi_check(MPI_Comm_dup(parent, &communicator_), {"MPI_Comm_dup"});
  mpi_check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), {"MPI_Comm_set_errhandler"});
  int process = 0;
  int count = 0;
  mpi_check(MPI_Comm_rank(communicator_, &process), {"MPI_Comm_rank"});
  mpi_check(MPI_Comm_size(communicator_, &count), {"MPI_Comm_size"});
  layout_ = {count * options.ranks_per_process, options.ranks_per_process, process};
  int* value = nullptr;
  int found = 0;
  mpi_check(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, static_cast<void*>(&value), &found),
            {"MPI_Comm_get_attr", process});
  tag_max_ = found != 0 ? *value : 32767;  // the standard's minimum
}

std::string MpiSession::find_disagreement(const MpiOptions& options) const {
  struct Item {
    const char* name;
    std::int64_t value;
  };
  const std::array<Item, 4> items = {
      Item{"ranks per process (--ranks-per-process)", options.ranks_per_process},
      Item{"the packet size in bytes", static_cast<std::int64_t>(options.link.packet_bytes)},
      Item{"the part size in bytes", static_cast<std::int64_t>(options.chunk_bytes)},
      Item{"the processes of a node that share memory (--node-processes)", options.node_processes}};
  // The minimum of v and of -v in one reduction; the last entry says whether somebody's level is
  // too low.
  std::array<std::int64_t, 2 * items.size() + 1> mine{};
  for (std::size_t i = 0; i < items.size(); ++i) {
    mine[2 * i] = items[i].value;
    mine[2 * i + 1] = -items[i].value;
  }
  mine.back() = thread_error_.empty() ? 1 : 0;
  auto least = mine;
  mpi_check(MPI_Allreduce(mine.data(), least.data(), static_cast<int>(mine.size()), MPI_INT64_T,
                          MPI_MIN, communicator_),
            {"MPI_Allreduce", process()});
  if (!thread_error_.empty()) return thread_error_;
  if (least.back() == 0)
    return "another process cannot run at the thread level that MPI granted it";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (least[2 * i] == -least[2 * i + 1]) continue;
    return fmt::format(
        "the processes disagree on {}: {} in process {}, from {} to {} over all. Start all "
        "processes "
        "with the same options",
        items[i].name, items[i].value, process(), least[2 * i], -least[2 * i + 1]);
  }
  return "";
}

std::vector<std::string> MpiSession::exchange(const std::string& mine) const {
  const auto count = static_cast<std::size_t>(layout_.process_count());
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(count);
  mpi_check(MPI_Allgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, communicator_),
            {"MPI_Allgather", process()});
  std::vector<int> counts(count);
  std::vector<int> offsets(count);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    counts[i] =
        static_cast<int>(std::min<std::uint64_t>(sizes[i], std::numeric_limits<int>::max()));
    offsets[i] = static_cast<int>(std::min<std::uint64_t>(total, std::numeric_limits<int>::max()));
    total += sizes[i];
  }
  SHOAL_CHECK(total <= std::numeric_limits<int>::max(), "exchange of {} bytes: at most {} in all",
              total, std::numeric_limits<int>::max());
  std::string all(total, '\0');
  mpi_check(MPI_Allgatherv(mine.data(), static_cast<int>(size), MPI_BYTE, all.data(), counts.data(),
                           offsets.data(), MPI_BYTE, communicator_),
            {"MPI_Allgatherv", process()});
  std::vector<std::string> texts(count);
  for (std::size_t i = 0; i < count; ++i) {
    texts[i] = all.substr(static_cast<std::size_t>(offsets[i]), sizes[i]);
  }
  return texts;
}

void MpiSession::close() {
  if (communicator_ == MPI_COMM_NULL) return;
  mpi_check(MPI_Comm_free(&communicator_), {"MPI_Comm_free", process()});
  communicator_ = MPI_COMM_NULL;
  if (finalize_) mpi_check(MPI_Finalize(), {"MPI_Finalize", process()});
}

// Of all calls the only one that another thread may be in MPI beside: nothing comes after it.
void MpiSession::abort(int exit_code) const {
  if (is_up()) {
    // The program's communicator may be smaller than the job, and this one may be freed: end the
    // job.
    static_cast<void>(MPI_Abort(MPI_COMM_WORLD, exit_code));
  }
  std::_Exit(exit_code);
}

}  // namespace shoal::net
