#pragma once
// The way of tokens through the stages of a pipeline, without their types.

#include <shoal/detail/sync/mutex.hpp>
#include <shoal/task_group.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace shoal::loops {

enum class StageMode : std::uint8_t { parallel, serial_in_order, serial_out_of_order };

/// An item on its way.
struct Token {
  std::int64_t number = 0;  // of the items of the source
  std::size_t stage = 0;    // in which it is, or for which it waits
  bool entered = false;     // into that stage
};

/// Moves tokens. A task goes on with its token as long as it can; then with a new one. A token that
/// finds a stage in use, or is not the next one there, waits in the stage without a task.
class Tokens {
 public:
  /// `priority`: of the tasks; nullopt: that of the calling task.
  Tokens(std::string name, std::optional<int> priority, const std::vector<StageMode>& stages);
  virtual ~Tokens() = default;
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

 protected:
  /// Moves `tokens` until the source ends. **Errors**: the first exception of a function;
  /// CancelledError, see LoopOptions.
  void run(std::vector<Token*> tokens);
  /// Gets an item for a token; false at the end. One call at a time.
  virtual bool produce(Token& token) = 0;
  virtual void run_stage(Token& token) = 0;

 private:
  struct StageState {
    StageMode mode = StageMode::parallel;
    bool busy = false;
    std::int64_t next = 0;  // item, in order
    std::vector<Token*> waiting =
        {};  // in order: at the place of its number; else the first one first
  };
  void go(Token* token);
  [[nodiscard]] Token* produce_next();
  [[nodiscard]] bool enter(Token& token);
  [[nodiscard]] bool enter_free(Token& token);
  void leave(Token& token);
  void spawn(Token* token);
  void give_back(Token& token);

  const std::string name_;
  const std::optional<int> asked_priority_;
  int priority_ = 0;            // of the run
  TaskGroup* group_ = nullptr;  // of the run
  sync::Mutex mutex_;
  std::vector<StageState> stages_ SHOAL_GUARDED_BY(mutex_);
  const std::size_t stage_count_;
  // Of each stage: serial or parallel. The address names the stage in --sim-races.
  const std::string marks_;
  std::vector<Token*> free_ SHOAL_GUARDED_BY(mutex_);
  std::size_t token_count_ = 0;
  std::int64_t produced_ SHOAL_GUARDED_BY(mutex_) = 0;
  bool producing_ SHOAL_GUARDED_BY(mutex_) = false;
  bool ended_ SHOAL_GUARDED_BY(mutex_) = false;
};

/// Refuses a number of tokens below 1. **Errors**: CheckError.
[[nodiscard]] std::size_t checked_tokens(int count, const std::string& name);

}  // namespace shoal::loops
