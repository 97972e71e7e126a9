#include "net/mpi/mpi_node_memory.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "net/mpi/mpi_check.hpp"

namespace shoal::net {

namespace {

/// Header before the messages in a ring: the fields of a PacketHeader that the receiver needs, so
/// that a message of 8 bytes takes one cache line with its header.
struct RecordHead {
  std::uint32_t lane;
  std::int32_t source;
  std::int32_t target;
  std::uint32_t message_count;
  std::uint32_t first_message;
  std::uint32_t unused;  // the messages behind stay aligned to 8 bytes
};
static_assert(MpiNodeMemory::kMessagesMaxBytes + sizeof(RecordHead) <=
              sync::RecordRing::kRecordMax);

/// Communicator that is freed at the end of its scope. Collective.
class Communicator {
 public:
  Communicator(const MpiTable& mpi, int process)
      : handle(mpi.comm_null), mpi_(mpi), process_(process) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() {
    if (!is_same(handle, mpi_.comm_null)) mpi_.comm_free(&handle);
  }
  [[nodiscard]] int rank() const {
    int rank = 0;
    mpi_check(mpi_, mpi_.comm_rank(handle, &rank), {"MPI_Comm_rank", process_});
    return rank;
  }
  [[nodiscard]] int size() const {
    int size = 0;
    mpi_check(mpi_, mpi_.comm_size(handle, &size), {"MPI_Comm_size", process_});
    return size;
  }

  MpiComm handle;

 private:
  const MpiTable& mpi_;
  int process_;
};

constexpr int kNoProcess = std::numeric_limits<int>::max();

/// Start of the segment. Two processes that MPI takes for neighbours may still have different
/// namespaces for such memory, in which one id means two segments: the token shows it.
struct alignas(alignof(sync::RecordRing)) SegmentHead {
  std::uint64_t token;
};

std::size_t segment_bytes(std::size_t count) {
  return sizeof(SegmentHead) + count * count * sizeof(sync::RecordRing);
}

/// The rings to one process, one for each of its group, itself too.
sync::RecordRing* rings_to(void* segment, std::size_t place, std::size_t count) {
  auto* const first = static_cast<std::byte*>(segment) + sizeof(SegmentHead);
  return reinterpret_cast<sync::RecordRing*>(first) + place * count;
}

std::string system_problem(const char* call, std::size_t bytes) {
  const int error = errno;
  return fmt::format("{} of {} bytes: {}", call, bytes, std::generic_category().message(error));
}

/// Returns the first process that has a problem. Collective.
int first_problem(const MpiTable& mpi, MpiComm group, int self, bool has_problem) {
  const int mine = has_problem ? self : kNoProcess;
  int first = kNoProcess;
  mpi_check(mpi, mpi.allreduce_min(&mine, &first, group), {"MPI_Allreduce", self});
  return first;
}

}  // namespace

// Marked for removal once a process is attached, the segment ends with its last user, also after a
// crash; Linux lets others attach until then.
SegmentCalls SegmentCalls::of_system() {
  SegmentCalls calls;
  calls.create = [](std::size_t bytes) { return shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600); };
  calls.attach = [](int id) -> void* {
    void* const memory = shmat(id, nullptr, 0);
    return reinterpret_cast<std::intptr_t>(memory) == -1 ? nullptr : memory;
  };
  return calls;
}

MpiNodeMemory::MpiNodeMemory(MpiSession& session, int processes_max, SegmentCalls calls)
    : session_(session),
      calls_(calls),
      neighbour_of_(static_cast<std::size_t>(session.layout().process_count()), -1) {
  if (processes_max > 1 && neighbour_of_.size() > 1) join(processes_max);
}

MpiNodeMemory::~MpiNodeMemory() {
  if (segment_ != nullptr) shmdt(segment_);
}

void MpiNodeMemory::join(int processes_max) {
  const int self = session_.process();
  const MpiTable& mpi = session_.mpi();
  Communicator node(mpi, self);
  mpi_check(mpi, mpi.comm_split_type_shared(session_.communicator(), self, &node.handle),
            {"MPI_Comm_split_type", self});
  Communicator group(mpi, self);
  mpi_check(mpi, mpi.comm_split(node.handle, node.rank() / processes_max, self, &group.handle),
            {"MPI_Comm_split", self});
  if (group.size() == 1) return;
  std::vector<int> processes(static_cast<std::size_t>(group.size()));
  mpi_check(mpi, mpi.allgather(&self, sizeof self, processes.data(), group.handle),
            {"MPI_Allgather", self});
  allocate(group.handle, processes);
}

// Every step that may fail is local, and all processes learn of a failure before the next step.
void MpiNodeMemory::allocate(MpiComm group, const std::vector<int>& processes) {
  const MpiTable& mpi = session_.mpi();
  const int self = session_.process();
  const std::size_t count = processes.size();
  const bool creates = self == processes.front();
  std::string problem;
  std::array<std::uint64_t, 2> offer{};  // id and token of the segment; no token: there is none
  if (creates) offer[1] = create(segment_bytes(count), offer[0], problem);
  mpi_check(mpi, mpi.bcast(offer.data(), sizeof offer, 0, group), {"MPI_Bcast", self});
  if (!creates && offer[1] != 0) problem = attach(offer[0], offer[1]);
  if (const int first = first_problem(mpi, group, self, !problem.empty()); first != kNoProcess) {
    return share_nothing(self == first ? problem : "");
  }
  const auto own_place = static_cast<std::size_t>(
      std::find(processes.begin(), processes.end(), self) - processes.begin());
  sync::RecordRing* const own = rings_to(segment_, own_place, count);
  for (std::size_t i = 0; i < count; ++i) new (own + i) sync::RecordRing;
  mpi_check(mpi, mpi.barrier(group), {"MPI_Barrier", self});
  for (std::size_t i = 0; i < count; ++i) {
    if (i == own_place) continue;
    sync::RecordRing* const theirs = rings_to(segment_, i, count);
    neighbour_of_[static_cast<std::size_t>(processes[i])] = static_cast<int>(neighbours_.size());
    neighbours_.push_back({processes[i], sync::RecordRing::Writer(theirs[own_place]),
                           sync::RecordRing::Reader(own[i])});
  }
}

std::uint64_t MpiNodeMemory::create(std::size_t bytes, std::uint64_t& id, std::string& problem) {
  const int made = calls_.create(bytes);
  if (made < 0) {
    problem = system_problem("shmget", bytes);
    return 0;
  }
  segment_ = calls_.attach(made);
  if (segment_ == nullptr) problem = system_problem("shmat", bytes);
  shmctl(made, IPC_RMID, nullptr);
  if (segment_ == nullptr) return 0;
  // Differs from what another process, in another namespace, may have put at the same place.
  const auto token =
      reinterpret_cast<std::uintptr_t>(segment_) ^ static_cast<std::uint64_t>(getpid()) << 48U ^ 1U;
  static_cast<SegmentHead*>(segment_)->token = token;
  id = static_cast<std::uint64_t>(made);
  return token;
}

std::string MpiNodeMemory::attach(std::uint64_t id, std::uint64_t token) {
  segment_ = calls_.attach(static_cast<int>(id));
  if (segment_ == nullptr) return "shmat: " + std::generic_category().message(errno);
  if (static_cast<const SegmentHead*>(segment_)->token == token) return "";
  return "they run in different IPC namespaces";
}

// One process of the group writes the reason.
void MpiNodeMemory::share_nothing(const std::string& problem) {
  if (segment_ != nullptr) shmdt(std::exchange(segment_, nullptr));
  if (problem.empty()) return;
  session_.add_note(
      fmt::format("the processes of a node share no memory ({}): messages between them go over "
                  "MPI, which takes longer",
                  problem),
      true);
}

bool MpiNodeMemory::try_send(int process, Packet& packet) {
  const PacketHeader& header = packet.header();
  const RecordHead head{header.lane,          header.source,        header.target,
                        header.message_count, header.first_message, 0};
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
  header.first_message = head.first_message;
  header.size_bytes = messages.size();
  std::memcpy(packet->body(), messages.data(), messages.size());
  neighbour.from.pop();
  return packet;
}

}  // namespace shoal::net
