#include "net/mpi/mpi_node_memory.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "net/mpi/mpi_check.hpp"

namespace shoal::net {

namespace {

/// What stands before the messages in a ring: what the receiver needs of a PacketHeader, so that a
/// message of 8 bytes takes one cache line with all that belongs to it.
struct RecordHead {
  std::uint32_t lane;
  std::int32_t source;
  std::int32_t target;
  std::uint32_t message_count;
};
static_assert(MpiNodeMemory::kMessagesMaxBytes + sizeof(RecordHead) <=
              sync::RecordRing::kRecordMax);

/// Ends with its scope; collective.
class Communicator {
 public:
  explicit Communicator(int process) : process_(process) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() {
    if (handle != MPI_COMM_NULL) MPI_Comm_free(&handle);
  }
  [[nodiscard]] int rank() const {
    int rank = 0;
    mpi_check(MPI_Comm_rank(handle, &rank), {"MPI_Comm_rank", process_});
    return rank;
  }
  [[nodiscard]] int size() const {
    int size = 0;
    mpi_check(MPI_Comm_size(handle, &size), {"MPI_Comm_size", process_});
    return size;
  }

  MPI_Comm handle = MPI_COMM_NULL;

 private:
  int process_;
};

constexpr const char* kMemoryFolder = "/dev/shm";  // where both MPIs have it
constexpr int kNoProcess = std::numeric_limits<int>::max();

/// Of the rings to one process. One more than are used: for the alignment.
std::size_t bytes_of(std::size_t count) { return (count + 1) * sizeof(sync::RecordRing); }

/// The first process that has a problem; collective.
int first_problem(MPI_Comm group, int self, bool has_problem) {
  const int mine = has_problem ? self : kNoProcess;
  int first = kNoProcess;
  mpi_check(MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, group), {"MPI_Allreduce", self});
  return first;
}

/// The rings to one process, one for each of its group, itself too. Pages begin at the same places
/// in all processes.
sync::RecordRing* rings_at(void* memory, std::size_t count) {
  std::size_t space = bytes_of(count);
  return static_cast<sync::RecordRing*>(
      std::align(alignof(sync::RecordRing), count * sizeof(sync::RecordRing), memory, space));
}

}  // namespace

std::string memory_shortage(const std::string& folder, std::uint64_t bytes) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  const std::uint64_t needed = bytes + bytes / 8;  // MPI uses some, too
  if (error || space.available >= needed) return "";
  return fmt::format("{} has {} bytes free, {} are needed", folder, space.available, needed);
}

MpiNodeMemory::MpiNodeMemory(MpiSession& session, int processes_max)
    : session_(session),
      neighbour_of_(static_cast<std::size_t>(session.layout().process_count()), -1) {
  if (processes_max > 1 && neighbour_of_.size() > 1) join(processes_max);
}

void MpiNodeMemory::join(int processes_max) {
  const int self = session_.process();
  Communicator node(self);
  mpi_check(MPI_Comm_split_type(session_.communicator(), MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL,
                                &node.handle),
            {"MPI_Comm_split_type", self});
  Communicator group(self);
  mpi_check(MPI_Comm_split(node.handle, node.rank() / processes_max, self, &group.handle),
            {"MPI_Comm_split", self});
  if (group.size() == 1) return;
  std::vector<int> processes(static_cast<std::size_t>(group.size()));
  mpi_check(MPI_Allgather(&self, 1, MPI_INT, processes.data(), 1, MPI_INT, group.handle),
            {"MPI_Allgather", self});
  allocate(group.handle, processes);
}

void MpiNodeMemory::allocate(MPI_Comm group, const std::vector<int>& processes) {
  const int self = session_.process();
  const std::size_t count = processes.size();
  const auto bytes = static_cast<MPI_Aint>(bytes_of(count));
  // Who asks for more than there is may wait in MPI for ever, or end by a signal later.
  std::string problem;
  if (self == processes.front()) problem = memory_shortage(kMemoryFolder, count * bytes_of(count));
  if (first_problem(group, self, !problem.empty()) != kNoProcess) return share_nothing(problem);
  void* memory = nullptr;
  const int result = MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, group,
                                             static_cast<void*>(&memory), &window_);
  const bool failed = result != MPI_SUCCESS;
  if (const int first = first_problem(group, self, failed); first != kNoProcess) {
    // A window that was made here stays: to free it is collective.
    return share_nothing(self == first ? "MPI_Win_allocate_shared: " + mpi_error_text(result) : "");
  }
  mpi_check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), {"MPI_Win_set_errhandler", self});
  const auto own_place = static_cast<std::size_t>(
      std::find(processes.begin(), processes.end(), self) - processes.begin());
  sync::RecordRing* const own = rings_at(memory, count);
  for (std::size_t i = 0; i < count; ++i) new (own + i) sync::RecordRing;
  mpi_check(MPI_Barrier(group), {"MPI_Barrier", self});
  for (std::size_t i = 0; i < count; ++i) {
    if (i == own_place) continue;
    MPI_Aint their_bytes = 0;
    int unit = 0;
    mpi_check(MPI_Win_shared_query(window_, static_cast<int>(i), &their_bytes, &unit,
                                   static_cast<void*>(&memory)),
              {"MPI_Win_shared_query", self, processes[i]});
    sync::RecordRing* const theirs = rings_at(memory, count);
    neighbour_of_[static_cast<std::size_t>(processes[i])] = static_cast<int>(neighbours_.size());
    neighbours_.push_back({processes[i], sync::RecordRing::Writer(theirs[own_place]),
                           sync::RecordRing::Reader(own[i])});
  }
}

// Those without a text of their own leave it to another one.
void MpiNodeMemory::share_nothing(const std::string& problem) {
  if (problem.empty()) return;
  session_.add_note(
      fmt::format("the processes of a node share no memory ({}): messages between them go over "
                  "MPI, which takes longer",
                  problem),
      true);
}

bool MpiNodeMemory::try_send(int process, Packet& packet) {
  const PacketHeader& header = packet.header();
  const RecordHead head{header.lane, header.source, header.target,
                        static_cast<std::uint32_t>(header.message_count)};
  const auto place = static_cast<std::size_t>(neighbour_of_[static_cast<std::size_t>(process)]);
  return neighbours_[place].to.try_write(std::as_bytes(std::span(&head, 1)), packet.messages());
}

Packet* MpiNodeMemory::try_receive(int looks, int& process) {
  for (; looks > 0; --looks) {
    for (std::size_t i = 0; i < neighbours_.size(); ++i) {
      if (next_ == neighbours_.size()) next_ = 0;
      Neighbour& neighbour = neighbours_[next_];
      Packet* const packet = read(neighbour);
      ++next_;
      if (packet == nullptr) continue;
      process = neighbour.process;
      return packet;
    }
  }
  return nullptr;
}

Packet* MpiNodeMemory::read(Neighbour& neighbour) const {
  const std::span<const std::byte> record = neighbour.from.front();
  if (record.empty()) return nullptr;
  RecordHead head{};
  if (record.size() < sizeof head || record.size() > sync::RecordRing::kRecordMax) {
    throw TransportError(fmt::format(
        "damaged memory between process {} and process {}: a packet of {} bytes; a program has "
        "written where it must not",
        neighbour.process, session_.process(), record.size()));
  }
  std::memcpy(&head, record.data(), sizeof head);
  const std::span<const std::byte> messages = record.subspan(sizeof head);
  Packet* const packet = Packet::create(messages.size());
  PacketHeader& header = packet->header();
  header.lane = head.lane;
  header.source = head.source;
  header.target = head.target;
  header.message_count = head.message_count;
  header.size_bytes = messages.size();
  std::memcpy(packet->body(), messages.data(), messages.size());
  neighbour.from.pop();
  return packet;
}

void MpiNodeMemory::close() {
  if (window_ == MPI_WIN_NULL || neighbours_.empty()) return;
  neighbours_.clear();
  std::fill(neighbour_of_.begin(), neighbour_of_.end(), -1);
  mpi_check(MPI_Win_free(&window_), {"MPI_Win_free", session_.process()});
}

}  // namespace shoal::net
