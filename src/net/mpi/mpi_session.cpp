#include "net/mpi/mpi_session.hpp"

#include <shoal/detail/base/check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>

#include "env/host.hpp"
#include "net/mpi/mpi_check.hpp"
#include "net/mpi/mpi_lifetime.hpp"
#include "net/mpi/mpi_rest.hpp"

namespace shoal::net {

// One thread at a time calls MPI, under the engine's lock. MULTIPLE makes MPI lock as well, and
// some lock from FUNNELED on.
int wanted_thread_level(const ThreadUse& use) {
  if (use.policy != ProgressPolicy::main) {
    return use.shared ? SHOAL_MPI_MULTIPLE : SHOAL_MPI_SERIALIZED;
  }
  return use.single_threaded && !use.shared ? SHOAL_MPI_SINGLE : SHOAL_MPI_FUNNELED;
}

// The standard orders the levels: SINGLE < FUNNELED < SERIALIZED < MULTIPLE.
ThreadDecision decide_threads(const ThreadUse& use, int granted) {
  ThreadUse at_most = use;
  at_most.single_threaded = false;
  if (granted >= wanted_thread_level(at_most)) return {use.policy, "", ""};
  if (granted >= SHOAL_MPI_SERIALIZED) {
    return {
        use.policy,
        "MPI grants MPI_THREAD_SERIALIZED, not MPI_THREAD_MULTIPLE: the program itself must not "
        "call MPI while shoal runs, or with edat.h between edatLockComms and edatUnlockComms only",
        ""};
  }
  // Only the thread that has initialized MPI calls it. MPI cannot notice other threads, even if it
  // assumes that there are none.
  if (use.policy == ProgressPolicy::main || use.single_threaded) {
    return {ProgressPolicy::main, "", ""};
  }
  if (granted >= SHOAL_MPI_FUNNELED || use.earlier_world) {
    return {ProgressPolicy::main,
            fmt::format("MPI {} {} only: messages move when the main thread polls "
                        "(--progress main)",
                        use.earlier_world ? "was initialized by an earlier run with" : "grants",
                        thread_level_name(granted)),
            ""};
  }
  return {use.policy, "",
          "MPI runs at MPI_THREAD_SINGLE, the level of MPI_Init, but more than one thread of "
          "this process would call it. Initialize it with MPI_Init_thread(&argc, &argv, "
          "MPI_THREAD_SERIALIZED, &provided) in the program (MPI_THREAD_MULTIPLE if main functions "
          "call MPI), or let only the main thread call it: --progress main, or --workers 1 with "
          "one rank per process"};
}

const char* thread_level_name(int level) {
  switch (level) {
    case SHOAL_MPI_SINGLE:
      return "MPI_THREAD_SINGLE";
    case SHOAL_MPI_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case SHOAL_MPI_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

namespace {

/// Errors: ConfigError for a communicator that no world can run on.
void check_communicator(const MpiTable& mpi, MpiComm communicator) {
  if (is_same(communicator, mpi.comm_null)) {
    throw ConfigError(
        "shoal::run() was given MPI_COMM_NULL: only the processes of a communicator call it; those "
        "that MPI_Comm_split() and others give MPI_COMM_NULL do not");
  }
  int is_inter = 0;
  if (mpi.comm_test_inter(communicator, &is_inter) != 0) {
    throw ConfigError(
        "shoal::run() was given a communicator that MPI does not know: was it freed already?");
  }
  if (is_inter != 0) {
    throw ConfigError(
        "shoal::run() was given an intercommunicator, whose two groups do not make one world: "
        "merge it with MPI_Intercomm_merge() first");
  }
}

env::Env& checked_env(const MpiOptions& options) {
  SHOAL_CHECK(options.env != nullptr, "the transport over MPI needs an environment");
  return *options.env;
}

}  // namespace

MpiSession::MpiSession(const MpiOptions& options)
    : env_(checked_env(options)),
      mpi_(MpiLifetime::of_process().load(options.choice)),
      communicator_(mpi_.comm_null),
      policy_(options.progress),
      main_thread_(std::this_thread::get_id()) {
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
  yields_ = MpiYields(mpi_.switch_yields);
  duplicate(options);
  if (const std::string problem = find_disagreement(options); !problem.empty()) {
    close();  // all processes are here: none waits
    throw ConfigError(problem);
  }
  if (!thread_note.empty()) {
    static std::atomic<bool> said{false};  // once in a process, as its MPI keeps its level
    add_note(thread_note, process() == 0 && !said.exchange(true));
  }
}

void MpiSession::add_note(std::string note, bool say) {
  if (say) env::write_to_standard_error({"shoal: note: ", note, "\n"});
  notes_.push_back(std::move(note));
}

std::string MpiSession::initialize(const MpiOptions& options) {
  MpiLifetime& lifetime = MpiLifetime::of_process();
  int finalized = 0;
  mpi_check(mpi_, mpi_.finalized(&finalized), {"MPI_Finalized"});
  if (finalized != 0) {
    throw ConfigError(
        "the program has called MPI_Finalize, after which nothing can use MPI: call it after the "
        "last shoal::run()");
  }
  const bool was_up = lifetime.is_up();
  const ThreadUse use{options.progress, options.shared_mpi || (was_up && !lifetime.is_ours()),
                      options.single_threaded, lifetime.is_ours()};
  if (options.communicator != nullptr) {
    if (!was_up) {
      throw ConfigError(
          "a communicator was given, but MPI is not initialized: call MPI_Init_thread first");
    }
    check_communicator(mpi_, mpi_.comm_at(options.communicator));
  } else if (lifetime.is_ours()) {
    lifetime.agree_to_go_on();
  }
  if (was_up) {
    mpi_check(mpi_, mpi_.query_thread(&thread_level_), {"MPI_Query_thread"});
  } else {
    thread_level_ = lifetime.initialize(wanted_thread_level(use));
  }
  lifetime.watch_end();
  const ThreadDecision decision = decide_threads(use, thread_level_);
  policy_ = decision.policy;
  thread_error_ = decision.error;
  return decision.note;
}

void MpiSession::duplicate(const MpiOptions& options) {
  const MpiComm parent =
      options.communicator != nullptr ? mpi_.comm_at(options.communicator) : mpi_.comm_world;
  MpiRequest request = mpi_.request_null;
  mpi_check(mpi_, mpi_.comm_idup(parent, &communicator_, &request), {"MPI_Comm_idup"});
  await_others(request, options, parent);
  mpi_check(mpi_, mpi_.comm_return_errors(communicator_), {"MPI_Comm_set_errhandler"});
  int process = 0;
  int count = 0;
  mpi_check(mpi_, mpi_.comm_rank(communicator_, &process), {"MPI_Comm_rank"});
  MpiLifetime::of_process().world_begins(process, options.exit_timeout_ns);
  mpi_check(mpi_, mpi_.comm_size(communicator_, &count), {"MPI_Comm_size"});
  layout_ = {count * options.ranks_per_process, options.ranks_per_process, process};
  int found = 0;
  mpi_check(mpi_, mpi_.comm_tag_ub(communicator_, &tag_max_, &found),
            {"MPI_Comm_get_attr", process});
  if (found == 0) tag_max_ = 32767;  // the standard's minimum
}

// Where MPI is the program's, nothing but the time tells that others do not come.
void MpiSession::await_others(MpiRequest& request, const MpiOptions& options,
                              MpiComm parent) const {
  int process = 0;
  mpi_check(mpi_, mpi_.comm_rank(parent, &process), {"MPI_Comm_rank"});
  const auto say = [&](const char* kind, std::uint64_t waited_ns, const char* end) {
    env::write_to_standard_error(fmt::format(
        "shoal: {}: process {} has waited in shoal::run() for {:.1f} s for other processes of its "
        "communicator: all of them call shoal::run(), equally often and with the same "
        "communicator{}\n",
        kind, process, static_cast<double>(waited_ns) / 1e9, end));
  };
  const std::uint64_t begin_ns = env_.now_ns();
  std::uint64_t report_ns = options.report_ns;
  wait(request, {"MPI_Comm_idup"}, [&] {
    const std::uint64_t waited_ns = env_.now_ns() - begin_ns;
    if (options.exit_timeout_ns > 0 && waited_ns >= options.exit_timeout_ns) {
      say("error", waited_ns, ": the run is given up (--stall-abort)");
      std::_Exit(1);  // the launcher ends the others; MPI_Abort() of several at once may hang
    }
    // Few of many processes: 0, 1, 2, 4, ...
    if (report_ns == 0 || waited_ns < report_ns || (process & (process - 1)) != 0) return;
    say("report", waited_ns, " (--stall-report)");
    report_ns = 2 * waited_ns;
  });
}

std::string MpiSession::find_disagreement(const MpiOptions& options) const {
  std::vector<Setting> settings = options.settings;
  settings.push_back({"--ranks-per-process", std::to_string(options.ranks_per_process)});
  settings.push_back({"--packet-bytes", std::to_string(options.link.packet_bytes)});
  settings.push_back({"--node-processes", std::to_string(options.node_processes)});
  settings.push_back({"the part size in bytes", std::to_string(options.chunk_bytes)});
  settings.push_back({"MPI's thread level", thread_error_.empty() ? "sufficient" : "too low"});
  const std::vector<std::string> all = exchange(encode_settings(env::host_name(), settings));
  return thread_error_.empty() ? net::find_disagreement(all) : thread_error_;
}

void MpiSession::wait(MpiRequest& request, const MpiCall& call, FunctionRef<void()> on_rest) const {
  MpiRest rest(env_);
  while (true) {
    int ended = 0;
    {
      const MpiYields::Off off(yields_);
      mpi_check(mpi_, mpi_.test(&request, &ended, nullptr), call);
    }
    if (ended != 0) return;
    on_rest();
    rest.pause();
  }
}

std::vector<std::string> MpiSession::exchange(const std::string& mine) const {
  const auto count = static_cast<std::size_t>(layout_.process_count());
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(count);
  MpiRequest request = mpi_.request_null;
  mpi_check(mpi_, mpi_.iallgather(&size, sizeof size, sizes.data(), communicator_, &request),
            {"MPI_Iallgather", process()});
  wait(request, {"MPI_Iallgather", process()});
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
  mpi_check(mpi_,
            mpi_.iallgatherv(mine.data(), static_cast<int>(size), all.data(), counts.data(),
                             offsets.data(), communicator_, &request),
            {"MPI_Iallgatherv", process()});
  wait(request, {"MPI_Iallgatherv", process()});
  std::vector<std::string> texts(count);
  for (std::size_t i = 0; i < count; ++i) {
    texts[i] = all.substr(static_cast<std::size_t>(offsets[i]), sizes[i]);
  }
  return texts;
}

MpiSession::~MpiSession() {
  if (!is_same(communicator_, mpi_.comm_null)) MpiLifetime::of_process().world_fails();
}

void MpiSession::close() {
  if (is_same(communicator_, mpi_.comm_null)) return;
  mpi_check(mpi_, mpi_.comm_free(&communicator_), {"MPI_Comm_free", process()});
  communicator_ = mpi_.comm_null;
  MpiLifetime::of_process().world_ends();
}

// Unlike all other calls, this may run while another thread is inside MPI, because the process ends
// here.
void MpiSession::abort(int exit_code) const {
  if (MpiLifetime::of_process().is_up()) {
    // The program's communicator may be smaller than the job, and this one may be freed: end the
    // job.
    static_cast<void>(mpi_.abort(mpi_.comm_world, exit_code));
  }
  std::_Exit(exit_code);
}

// Open MPI reads its parameter once, in MPI_Init(), which programs may call.
MpiYields::MpiYields(Switch* set) {
  if (set == nullptr) return;
  const bool were_on = set(0) != 0;
  if (!were_on) return;
  set_ = set;
  static_cast<void>(set(1));
}

}  // namespace shoal::net
