#pragma once
// Histories of reads and writes of a shared memory, and a checker of their causal consistency.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace shoal::testing {

/// A read, and the value that it has returned, or a write. Each write has a value of its own; 0 is
/// the value before the first one.
struct MemoryAccess {
  bool is_write = false;
  std::size_t place = 0;
  std::uint64_t value = 0;
};

/// Accesses of each process, in the order of its program.
using History = std::vector<std::vector<MemoryAccess>>;

/// Causal memory: each process sees, in some order, its own reads and the writes of all, so that a
/// read returns the last write, and the order follows causality. Causality is the order of each
/// program, and each write before the reads that return its value. The check is that of the bad
/// patterns of Bouajjani, Enea, Guerraoui and Hamza (On verifying causal consistency, POPL 2017).
class HistoryChecker {
 public:
  static constexpr std::size_t kAccessesMax = 256;

  explicit HistoryChecker(const History& history) {
    for (std::size_t process = 0; process < history.size(); ++process) {
      for (const MemoryAccess& access : history[process]) accesses_.push_back({access, process});
    }
    if (accesses_.size() > kAccessesMax) throw std::length_error("too many accesses");
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].is_write) writers_[accesses_[i].value] = i;
    }
  }

  /// Name of a violation; "" if there is none.
  [[nodiscard]] std::string causal_violation() const {
    return violation([](std::size_t, std::size_t) { return true; });
  }
  /// The same for pipelined memory, where a value that is read by one process says nothing about
  /// what another one may read.
  [[nodiscard]] std::string pipelined_violation() const {
    return violation([](std::size_t reader, std::size_t process) { return reader == process; });
  }

 private:
  struct Access : MemoryAccess {
    Access(const MemoryAccess& access, std::size_t by) : MemoryAccess(access), process(by) {}
    std::size_t process;
  };
  using Row = std::bitset<kAccessesMax>;
  using Order = std::vector<Row>;  // [a][b]: a comes before b

  static void close(Order& order) {
    for (std::size_t k = 0; k < order.size(); ++k) {
      for (Row& row : order) {
        if (row[k]) row |= order[k];
      }
    }
  }

  /// counts(reader, process): what `reader` reads is an order for `process`.
  template <class Counts>
  [[nodiscard]] std::string violation(Counts counts) const {
    for (const Access& one : accesses_) {
      if (!one.is_write && one.value != 0 && !writers_.contains(one.value)) {
        return "a value that was never written";
      }
    }
    const std::size_t processes = accesses_.empty() ? 0 : accesses_.back().process + 1;
    for (std::size_t process = 0; process < processes; ++process) {
      Order order(accesses_.size());
      for (std::size_t i = 0; i < accesses_.size(); ++i) {
        const Access& one = accesses_[i];
        if (i > 0 && accesses_[i - 1].process == one.process) order[i - 1].set(i);
        if (!one.is_write && one.value != 0 && counts(one.process, process)) {
          order[writers_.at(one.value)].set(i);
        }
      }
      const std::string text = violation_of(process, order);
      if (!text.empty()) return text;
    }
    return "";
  }

  /// Adds what the reads of `process` say about the writes that it may have seen.
  [[nodiscard]] std::string violation_of(std::size_t process, Order order) const {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      close(order);
      for (std::size_t i = 0; i < accesses_.size(); ++i) {
        if (order[i][i]) return "a cycle";
      }
      for (std::size_t read = 0; read < accesses_.size(); ++read) {
        const Access& reader = accesses_[read];
        if (reader.is_write || reader.process != process) continue;
        for (std::size_t write = 0; write < accesses_.size(); ++write) {
          const Access& writer = accesses_[write];
          if (!writer.is_write || writer.place != reader.place || writer.value == reader.value ||
              !order[write][read]) {
            continue;
          }
          if (reader.value == 0) return "a read misses a write before it";
          const std::size_t source = writers_.at(reader.value);
          has_changed |= !order[write][source];
          order[write].set(source);
        }
      }
    }
    return "";
  }

  std::vector<Access> accesses_;
  std::map<std::uint64_t, std::size_t> writers_;
};

}  // namespace shoal::testing
