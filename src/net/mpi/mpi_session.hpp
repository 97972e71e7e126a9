#pragma once
// MPI's own start and end, and the communicator between the two.

#include <mpi.h>

#include <shoal/net/mpi_transport.hpp>

#include <thread>

namespace shoal::net {

/// The thread level that a policy asks for. `shared`: the program may call MPI meanwhile.
int wanted_thread_level(ProgressPolicy policy, bool shared, bool single_threaded);

/// What becomes of a policy at the level that MPI granted.
struct ThreadDecision {
  ProgressPolicy policy;
  std::string note;   // empty: as asked
  std::string error;  // not empty: it cannot be done
};
/// `single_threaded`: see MpiOptions.
ThreadDecision decide_threads(ProgressPolicy wanted, int granted, bool shared,
                              bool single_threaded);

/// A duplicate of the program's communicator, with errors returned.
class MpiSession {
 public:
  /// Collective. Throws ConfigError in all processes or in none.
  explicit MpiSession(const MpiOptions& options);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Without close(): leaves the communicator and MPI as they are, since freeing might wait for
  /// others.
  ~MpiSession() = default;

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] int process() const { return layout_.process; }
  [[nodiscard]] ProgressPolicy policy() const { return policy_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// `say`: writes it to standard error, too.
  void add_note(std::string note, bool say);
  /// The caller is the thread that started the session.
  [[nodiscard]] bool is_main_thread() const { return std::this_thread::get_id() == main_thread_; }
  /// The largest tag that a message may have.
  [[nodiscard]] int tag_max() const { return tag_max_; }

  /// Collective, blocking.
  std::vector<std::string> exchange(const std::string& mine) const;
  /// Collective: frees the communicator; finalizes MPI if this session initialized it.
  void close();
  void abort(int exit_code) const;
  /// False once MPI was finalized: no call of it is allowed any more.
  [[nodiscard]] static bool is_up();

 private:
  std::string initialize(const MpiOptions& options);
  void duplicate(const MpiOptions& options);
  [[nodiscard]] std::string find_disagreement(const MpiOptions& options) const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool finalize_ = false;
  Layout layout_;
  ProgressPolicy policy_;
  const std::thread::id main_thread_;
  std::string thread_error_;
  std::vector<std::string> notes_;
  int tag_max_ = 0;
};

}  // namespace shoal::net
