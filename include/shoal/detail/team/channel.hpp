#pragma once
// Messages of one team on one rank: sending, and the handlers that its members have made.

#include <shoal/detail/base/inline.hpp>
#include <shoal/detail/net/transport.hpp>
#include <shoal/detail/sched/scheduler.hpp>
#include <shoal/detail/team/handler.hpp>
#include <shoal/detail/team/handler_table.hpp>
#include <shoal/detail/team/services.hpp>
#include <shoal/detail/team/team_ranks.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace shoal::messaging {

class Messenger;

/// Not a template; the typed calls are thin. Messages are counted in the team's scope.
class Channel {
 public:
  Channel(Messenger& messenger, sched::TaskScope& scope, ChannelTeam team);
  ~Channel();
  /// Messages are handled from now on. Earlier messages come first.
  void open();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] Messenger& messenger() const { return messenger_; }
  [[nodiscard]] sched::Scheduler& scheduler() const { return scheduler_; }
  [[nodiscard]] sched::TaskScope& scope() const { return scope_; }
  /// Objects that handlers of the team's messages find, for each team its own.
  [[nodiscard]] Services& services() { return services_; }
  [[nodiscard]] const TeamRanks& team() const { return team_; }

  // --- sending. Any thread.

  /// The link to a rank of the team, after waiting, if the caller may be suspended, until it has
  /// room. **Errors**: CheckError, naming the handler with these flag bits, for a rank that the
  /// team has not.
  template <net::Lane lane = net::Lane::normal>
  net::Link& admit(Rank target, std::uint32_t handler) {
    if constexpr (lane != net::Lane::normal) return admit_to(target, lane, handler);
    if (static_cast<unsigned>(target.value()) < static_cast<unsigned>(fast_size_)) [[likely]] {
      // acquire pairs with the release in Fabric::make_link()
      net::Link* const link = links_[net::Fabric::link_index(target, net::Lane::normal)].load(
          std::memory_order_acquire);
      // relaxed: see give_way()
      if (link != nullptr && link->may_go_on() && handlers_.all_open()) return *link;
    }
    return admit_to(target, net::Lane::normal, handler);
  }
  /// Returns the link to a rank of the team in a lane that is known at run time only; see admit().
  net::Link& admit_to(Rank target, net::Lane lane, std::uint32_t handler);
  /// Name of a handler with flag bits, as users know it.
  [[nodiscard]] std::string name_of(std::uint32_t handler) const;
  /// Refuses a target that the team has not. `what`: "message".
  [[noreturn]] void refuse_target(const char* what, std::uint32_t handler, Rank target) const;
  [[nodiscard]] bool is_local(const net::Link& link) const {
    return layout_.is_local(link.target());
  }
  /// Flag bits of the handlers of all its messages.
  [[nodiscard]] std::uint32_t flag_bits() const { return team_bit_; }
  /// Metadata of a message over this channel, which is about to be appended.
  [[nodiscard]] net::MessageHeader header_of(const Route& route, std::size_t size_bytes) const {
    net::MessageHeader header{route.handler, route.signature, size_bytes, team_.id()};
    // relaxed: a team that the caller knows
    if (crosses_.load(std::memory_order_relaxed)) [[unlikely]] {
      // By value: the header of a message stays in registers.
      header.sender = outside_sender(header.handler);
      if (header.sender != 0) header.handler |= net::kTeamBit;
    }
    return header;
  }
  /// The rank has teams beside the world: messages may come from tasks of other ones.
  void set_crosses(bool crosses) { crosses_.store(crosses, std::memory_order_relaxed); }
  /// Appends a counted message; see Link::append for `write`.
  template <class Write>
  SHOAL_ALWAYS_INLINE void append(net::Link& link, const net::MessageHeader& header,
                                  std::size_t extra_bytes, Write&& write,
                                  const net::RunPrefix* prefix = nullptr) {
    const int slot = scheduler_.count_slot();
    scope_.counts.message_queued(slot);
    bool closed = false;
    try {
      // relaxed: what this thread has written
      const auto polls_next = [this, slot] {
        return slot == polls_next_.load(std::memory_order_relaxed);
      };
      closed = link.append(header, extra_bytes, std::forward<Write>(write), polls_next, prefix);
    } catch (...) {  // no memory for it: it is neither queued nor to be processed
      scope_.counts.messages_processed(slot);
      throw;
    }
    // Its receiver is at work while this one fills the next packet.
    if (closed && !is_local(link)) [[unlikely]]
      flush();
  }
  void append_bytes(net::Link& link, const net::MessageHeader& header,
                    std::span<const std::byte> bytes, const net::RunPrefix* prefix = nullptr);
  void append_object(net::Link& link, net::MessageHeader header, std::size_t extra_bytes,
                     std::unique_ptr<ObjectMessage> object, const net::RunPrefix* prefix = nullptr);
  /// Hands what the rank has sent so far to the transport, unless another worker is just doing it.
  void flush();

  // --- instance handlers

  /// Index of the new handler: the number of those made before it on this rank for this team. Main
  /// functions and tasks. One made by a main function is closed until the next open_handlers().
  std::uint32_t add_handler(std::shared_ptr<Handler> handler, const std::string& name,
                            const HandlerSource& source);
  /// Sets whether handlers are identified by their numbers, see HandlerTable::set_numbered().
  void number_handlers(bool numbered) { handlers_.set_numbered(numbered); }
  void open_handlers();
  /// Messages for it that are handled after this are errors; a handler that runs goes on.
  void remove_handler(std::uint32_t index);
  /// The same for the handlers of a receiver that is about to end, and returns when none of them
  /// runs: nothing changes the receiver any more but its own tasks. Messages to the receivers of
  /// other ranks are still sent. In a handler, which no other one of the rank runs beside, it does
  /// not wait. **Blocks**: the thread, for as long as a handler of the rank runs.
  void close_handlers(std::span<const std::uint32_t> indices);
  [[nodiscard]] const HandlerTable& handlers() const { return handlers_; }
  /// The run has ended: refuses to send from now on.
  void end_run() {
    run_has_ended_ = true;
    handlers_.close();
  }

 private:
  /// Counts the message in the team of the calling task, if that is another one. Its id, or 0.
  [[nodiscard]] std::uint64_t outside_sender(std::uint32_t handler) const;
  void give_way(const net::Link& link);

  Messenger& messenger_;
  sched::Scheduler& scheduler_;
  sched::TaskScope& scope_;
  const TeamRanks team_;
  const std::uint32_t team_bit_;
  const int fast_size_;  // ranks below are the world's, and have their link in links_
  const std::atomic<net::Link*>* const links_;  // of this rank: Fabric::links_of()
  const net::Layout& layout_;
  std::atomic<bool> crosses_;
  const std::atomic<int>& polls_next_;  // see Messenger::polls_next()
  bool run_has_ended_ = false;          // written when the workers have stopped
  HandlerTable handlers_;
  Services services_;
};

}  // namespace shoal::messaging
