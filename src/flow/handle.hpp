#pragma once
// A registered datum as one rank sees it.

#include "flow/instance.hpp"

#include <shoal/detail/base/function.hpp>
#include <shoal/detail/flow/types.hpp>
#include <shoal/rank.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shoal::flow {

/// Transfers of a handle between this rank and another one.
struct Peer {
  int rank = 0;
  std::uint32_t sent = 0;      // number of transfers so far
  std::uint32_t expected = 0;  // likewise, from there
  std::uint32_t epoch = 0;     // of the handle, when its value was last there
};

/// Functions of a reduction.
struct Reduction {
  Function<void(void* object)> init;
  Function<void(void* into, const void* from)> combine;
};

/// Rarely needed.
struct HandleExtras {
  std::shared_ptr<const Reduction> reduction;
  Instance* reducing = nullptr;     // partial values of this rank
  std::vector<int> reducing_ranks;  // that have partial values, in the order of insertion
  Instance* scratch = nullptr;
  std::vector<Handle*> parts;  // while it is partitioned
};

/// Used by the inserting thread only, unless said otherwise.
struct Handle {
  Instance* current = nullptr;  // its value on this rank, or nullptr
  int owner = 0;
  std::uint32_t generation = 0;
  std::uint32_t epoch = 1;       // changes whenever cached values end
  std::uint32_t sent_epoch = 0;  // when it was last sent
  bool partitioned = false;
  bool is_reducing = false;
  const DataType* type = nullptr;  // never changes while there are instances, likewise `shape`
  Shape shape;
  std::uint64_t id = 0;
  int home = 0;                 // the rank that it goes back to
  Instance* at_home = nullptr;  // with the memory of the program; on the home rank
  Handle* whole = nullptr;      // that it is a part of
  std::vector<Peer> peers;
  std::unique_ptr<HandleExtras> extras;
  const Instances* flow = nullptr;         // that it is registered with, by its instances
  std::atomic<std::int32_t> instances{0};  // alive. Any thread
  std::string text;  // its name, or ""; never changes while there are instances

  [[nodiscard]] std::size_t size_bytes() const {
    return shape.rows * shape.columns * type->element_bytes;
  }
  [[nodiscard]] std::string name() const;
  /// Its type and size, "a std::span<double> of 8 elements", for reports.
  [[nodiscard]] std::string describe_type() const;
  /// ", 'name'" of the datum that has ended with that generation, or "" where it is not known.
  [[nodiscard]] std::string former_name(std::uint32_t ended) const;
  [[nodiscard]] HandleExtras& more() {
    if (extras == nullptr) extras = std::make_unique<HandleExtras>();
    return *extras;
  }
  [[nodiscard]] Peer& peer(int rank);
};

}  // namespace shoal::flow
