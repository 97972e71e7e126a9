#pragma once
// The transport, which carries packets between processes, and the fabric, which joins it with the
// links in memory.

#include <shoal/detail/env/env.hpp>
#include <shoal/detail/net/link.hpp>

#include <memory>
#include <string>
#include <vector>

namespace shoal::net {

/// Assignment of ranks to processes: process p holds ranks [p * ranks_per_process, (p+1) *
/// ranks_per_process).
struct Layout {
  int world_size = 1;
  int ranks_per_process = 1;
  int process = 0;

  [[nodiscard]] int process_count() const { return world_size / ranks_per_process; }
  [[nodiscard]] int process_of(Rank rank) const { return rank / ranks_per_process; }
  [[nodiscard]] int first_local() const { return process * ranks_per_process; }
  [[nodiscard]] bool is_local(Rank rank) const { return process_of(rank) == process; }
};

class Fabric;

/// Packets that a rank's own poll finds come to it past its port: no other thread delivers
/// meanwhile.
struct DirectArrivals {
  const Port* port;  // of the rank
  int looks = 1;     // at the transport, as long as nothing has come; of several: it is idle
  PacketList packets;
};

/// Carries packets and payloads to other processes.
class Transport {
 public:
  virtual ~Transport() = default;

  [[nodiscard]] virtual Layout layout() const = 0;
  /// Once, before the first link is made: where arrivals for local ranks go.
  virtual void attach(Fabric& fabric) = 0;
  /// A new link to a rank of another process.
  virtual std::unique_ptr<Link> make_link(Rank source, Rank target, Lane lane) = 0;

  /// Sends and receives what is ready; true if anything happened. `main_thread`: the caller is the
  /// thread that started the world. `direct`: the caller is the progress context of a rank, and
  /// handles what is put there before it delivers from the port; else nullptr. Any thread; returns
  /// at once when another one is polling. Throws TransportError.
  virtual bool poll(bool main_thread, DirectArrivals* direct) = 0;
  /// Returns whether messages were submitted that only the next poll() sends. **Caller**: any
  /// thread.
  [[nodiscard]] virtual bool has_unsent() const { return false; }
  /// Payloads are moving, as fast as poll() is called. Any thread; a hint.
  [[nodiscard]] virtual bool is_streaming() const { return false; }
  /// Keeps this transport from calling MPI until unlock_calls(), for a program that may call it
  /// from one thread at a time only. Blocks while a call is under way. Nothing travels meanwhile,
  /// and the first send to a rank may block. Any thread; the one that locks unlocks.
  virtual void lock_calls() {}
  virtual void unlock_calls() {}
  /// A process of this node, whose memory this one may map. Any thread.
  [[nodiscard]] virtual bool shares_memory(int /*process*/) const { return false; }
  /// A Steppable that polls on its own thread, or nullptr when workers poll.
  virtual env::Steppable* engine() = 0;

  /// A number that names one payload of this process; unique among those under way.
  virtual std::uint32_t new_payload_tag() = 0;
  /// Sends bytes, none perhaps, that stay untouched until `done` was posted to the port of
  /// `source`; never before receive_payload() was called for them.
  virtual void send_payload(Rank source, Rank target, std::uint32_t tag,
                            std::span<const std::byte> bytes, Completion* done) = 0;
  /// Receives the payload `tag` of `source`; posts `done` to the port of `target`.
  virtual void receive_payload(Rank source, Rank target, std::uint32_t tag,
                               std::span<std::byte> bytes, Completion* done) = 0;

  /// Collective over processes, blocking, only before the workers start: everyone's text.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  /// Collective, blocking, only after the workers stopped: nothing is under way any more.
  virtual void finish() = 0;
  /// Ends all processes at once, after an error that cannot be reported in an orderly way.
  virtual void abort(int exit_code) = 0;
};

/// All ports and links of one process.
class Fabric {
 public:
  /// `transport` is nullptr when all ranks are in this process; else it outlives the fabric.
  Fabric(const Layout& layout, const LinkOptions& options, Transport* transport);
  ~Fabric();

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const LinkOptions& options() const { return options_; }
  [[nodiscard]] Transport* transport() const { return transport_; }
  /// The port of a rank of this process.
  [[nodiscard]] Port& port(Rank local);
  /// The link from a rank of this process to any rank; made on first use. Any thread.
  Link& link(Rank source, Rank target, Lane lane);
  /// The links of a rank of this process that were made so far, each under link_index(). Any
  /// thread.
  [[nodiscard]] const std::atomic<Link*>* links_of(Rank source) const;
  [[nodiscard]] static std::size_t link_index(Rank target, Lane lane) {
    return static_cast<std::size_t>(target.value()) * kLaneCount + static_cast<std::size_t>(lane);
  }
  /// The links of the lanes of programs that a rank of this process has used, by target. Any
  /// thread.
  [[nodiscard]] std::vector<LinkState> link_states(Rank source) const;

 private:
  struct LocalRank;
  Link& make_link(Rank source, Rank target, Lane lane, std::atomic<Link*>& slot);

  const Layout layout_;
  const LinkOptions options_;
  Transport* const transport_;
  std::vector<std::unique_ptr<LocalRank>> local_;
  mutable sync::Mutex mutex_;
  std::vector<std::unique_ptr<Link>> links_ SHOAL_GUARDED_BY(mutex_);
};

}  // namespace shoal::net
