#pragma once
// Items to all ranks, collected into packets: what one writes by hand around MPI.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ranks/mpi_side.hpp"

namespace irregular {

/// Items from every rank to every other one, under one tag. An empty packet says that its sender
/// has no more; packets of one sender stay in order.
template <class Item>
class Exchange {
 public:
  /// Takes the items of one packet; may push() to another Exchange.
  using Handle = std::function<void(int source, std::span<const Item> items)>;

  Exchange(const bench::MpiWorld& world, int tag, int packet_bytes, Handle handle)
      : tag_(tag),
        packet_items_(
            std::max<std::size_t>(1, static_cast<std::size_t>(packet_bytes) / sizeof(Item))),
        handle_(std::move(handle)),
        filling_(static_cast<std::size_t>(world.size())),
        open_sources_(world.size() - 1),
        receiving_(open_sources_ > 0 ? kReceives : 0) {
    for (Packet& packet : receiving_) post(packet);
  }

  /// True: a packet was sent. Never waits.
  bool push(int rank, const Item& item) {
    std::vector<Item>& items = filling_[static_cast<std::size_t>(rank)];
    items.push_back(item);
    if (items.size() < packet_items_) return false;
    send(rank);
    return true;
  }
  /// Handles what has arrived, and frees what was sent.
  void poll() {
    while (!sending_.empty() && is_done(sending_.front().request, MPI_STATUS_IGNORE)) {
      sending_.front().items.clear();
      free_.push_back(std::move(sending_.front().items));
      sending_.pop_front();
    }
    MPI_Status status;
    while (open_sources_ > 0 && is_done(receiving_[next_].request, &status)) take(status);
  }
  /// Many packets are under way: poll before more is sent.
  [[nodiscard]] bool is_crowded() const { return sending_.size() > kCrowd; }
  /// Sends what is left, and to each other rank that this was all.
  void end(const bench::MpiWorld& world) {
    for (int rank = 0; rank < world.size(); ++rank) {
      if (rank == world.rank()) continue;
      if (!filling_[static_cast<std::size_t>(rank)].empty()) send(rank);
      send(rank);
    }
  }
  /// Everything was sent, and all of the others has been handled.
  [[nodiscard]] bool is_over() const { return open_sources_ == 0 && sending_.empty(); }
  /// All of the others has been handled.
  [[nodiscard]] bool has_all() const { return open_sources_ == 0; }

  ~Exchange() {
    for (Packet& packet : receiving_) {
      if (packet.request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&packet.request);
      MPI_Wait(&packet.request, MPI_STATUS_IGNORE);
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  static constexpr std::size_t kReceives = 16;
  static constexpr std::size_t kCrowd = 16;
  struct Packet {
    std::vector<Item> items;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  static bool is_done(MPI_Request& request, MPI_Status* status) {
    int done = 0;
    MPI_Test(&request, &done, status);
    return done != 0;
  }
  void send(int rank) {
    std::vector<Item>& filled = filling_[static_cast<std::size_t>(rank)];
    Packet& packet = sending_.emplace_back();
    packet.items.swap(filled);
    if (!free_.empty()) {
      filled = std::move(free_.back());
      free_.pop_back();
    }
    filled.reserve(packet_items_);
    MPI_Isend(packet.items.data(), static_cast<int>(packet.items.size() * sizeof(Item)), MPI_BYTE,
              rank, tag_, MPI_COMM_WORLD, &packet.request);
  }
  void post(Packet& packet) {
    packet.items.resize(packet_items_);
    MPI_Irecv(packet.items.data(), static_cast<int>(packet_items_ * sizeof(Item)), MPI_BYTE,
              MPI_ANY_SOURCE, tag_, MPI_COMM_WORLD, &packet.request);
  }
  void take(const MPI_Status& status) {
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Packet& packet = receiving_[next_];
    next_ = (next_ + 1) % receiving_.size();
    if (bytes == 0) {
      --open_sources_;
    } else {
      handle_(status.MPI_SOURCE,
              std::span(packet.items).first(static_cast<std::size_t>(bytes) / sizeof(Item)));
    }
    post(packet);
  }

  const int tag_;
  const std::size_t packet_items_;
  const Handle handle_;
  std::vector<std::vector<Item>> filling_;  // by destination
  std::vector<std::vector<Item>> free_;
  std::deque<Packet> sending_;
  int open_sources_;
  std::vector<Packet> receiving_;  // a ring, from next_ on in the order posted
  std::size_t next_ = 0;
};

}  // namespace irregular
