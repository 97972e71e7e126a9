#pragma once
// How arcs travel to the owners of their vertices: many in one active message.

#include <shoal/shoal.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bfs/vertex_partition.hpp"

namespace bfs {

/// A channel for arcs, each of which goes to the owner of its `at`, with a level. The ranks make
/// theirs in the same order, and keep them until wait() has returned.
class ArcExchange {
 public:
  /// What the owner does with arcs of one level. It runs in a handler, or in the task that sent
  /// them if that is on the same rank, so several may run at the same time: it locks what it
  /// changes.
  using Take = std::function<void(int level, std::span<const Arc> arcs)>;

  ArcExchange(shoal::World& world, const VertexPartition& partition, std::string name, Take take);

  /// Gathers the arcs of one task (or main function) by owner, and sends them when they are many,
  /// when the level changes, and at flush(), which is to be called at the end.
  class Sender {
   public:
    explicit Sender(const ArcExchange& exchange);
    /// Blocks: may suspend the task, as ActiveMessage::send().
    void send(int level, const Arc& arc);
    void flush();

   private:
    void flush(shoal::Rank target);

    const ArcExchange& exchange_;
    int level_ = 0;
    std::vector<std::vector<Arc>> outgoing_;  // by rank
  };

 private:
  shoal::World& world_;
  const VertexPartition& partition_;
  Take take_;
  shoal::ActiveMessage<int, std::span<const Arc>> message_;
};

}  // namespace bfs
