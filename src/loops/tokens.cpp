#include <shoal/detail/loops/tokens.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/loops/loop.hpp>
#include <shoal/detail/sched/long_task.hpp>
#include <shoal/detail/sync/strand.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

#include <utility>

namespace shoal::loops {

std::size_t checked_tokens(int count, const std::string& name) {
  SHOAL_CHECK(count >= 1,
              "'{}' with {} tokens: a pipeline needs one at least, and a few for each "
              "worker to keep them busy",
              name, count);
  return static_cast<std::size_t>(count);
}

namespace {

std::string marks_of(const std::vector<StageMode>& stages) {
  std::string marks;
  for (const StageMode mode : stages) marks += mode == StageMode::parallel ? 'p' : 's';
  return marks;
}

}  // namespace

Tokens::Tokens(std::string name, std::optional<int> priority, const std::vector<StageMode>& stages)
    : name_(std::move(name)),
      asked_priority_(priority),
      stage_count_(stages.size()),
      marks_(marks_of(stages)) {
  const sync::Lock lock(mutex_);
  for (const StageMode mode : stages) stages_.push_back({.mode = mode});
}

void Tokens::run(std::vector<Token*> tokens) {
  check_caller("pipeline()");
  const sched::LongCall here("pipeline", name_);
  TaskGroup group(name_);
  group_ = &group;
  priority_ = asked_priority_.value_or(sched::current_task()->priority);
  token_count_ = tokens.size();
  {
    const sync::Lock lock(mutex_);
    free_ = std::move(tokens);
    for (StageState& stage : stages_) {
      if (stage.mode == StageMode::serial_in_order) stage.waiting.resize(token_count_);
    }
  }
  spawn(nullptr);
  group.wait();
  if (group.is_cancelled())
    throw CancelledError(name_ + ": the task group of its caller was cancelled");
}

void Tokens::spawn(Token* token) {
  group_->spawn([this, token] { go(token); }, name_, priority_);
}

void Tokens::go(Token* token) {
  for (;;) {
    if (group_->is_cancelled()) return;
    if (token == nullptr) token = produce_next();
    if (token == nullptr) return;
    bool waits = false;
    while (token->stage < stage_count_) {
      waits = !enter(*token);
      if (waits) break;
      run_stage(*token);
      leave(*token);
      if (group_->is_cancelled()) return;
    }
    if (!waits) give_back(*token);  // else another task may have it
    token = nullptr;
    sched::between_pieces();
  }
}

// Other tokens need another task, which gets items meanwhile. Under --sim-races the lock, which all
// tokens share, orders nothing: the edges are those of the source, of serial stages and of tokens.
Token* Tokens::produce_next() {
  Token* token = nullptr;
  {
    const sync::Quiet quiet;
    const sync::Lock lock(mutex_);
    if (ended_ || producing_ || free_.empty()) return nullptr;
    producing_ = true;
    // The oldest: under --sim-races the last user of a token comes before the next one.
    token = free_.front();
    free_.erase(free_.begin());
  }
  sync::observe(this);
  sync::observe(token);
  const bool has_item = produce(*token);
  sync::publish(this);
  bool has_more = false;
  {
    const sync::Quiet quiet;
    const sync::Lock lock(mutex_);
    producing_ = false;
    if (!has_item) {
      ended_ = true;
      return nullptr;
    }
    token->number = produced_++;
    token->stage = 0;
    token->entered = false;
    has_more = !free_.empty();
  }
  if (has_more) spawn(nullptr);
  return token;
}

void Tokens::give_back(Token& token) {
  sync::publish(&token);
  const sync::Quiet quiet;
  const sync::Lock lock(mutex_);
  free_.push_back(&token);
}

// False: it waits in the stage, and the task that leaves that next goes on with it. So nothing of
// the token is touched after that.
bool Tokens::enter(Token& token) {
  sync::observe(&token);
  const std::size_t index = token.stage;
  if (!std::exchange(token.entered, false)) {
    sync::publish(&token);
    if (!enter_free(token)) return false;
  }
  sync::observe(&marks_[index]);
  return true;
}

bool Tokens::enter_free(Token& token) {
  const sync::Quiet quiet;
  const sync::Lock lock(mutex_);
  StageState& stage = stages_[token.stage];
  if (stage.mode == StageMode::parallel) return true;
  const bool in_order = stage.mode == StageMode::serial_in_order;
  if (!stage.busy && (!in_order || stage.next == token.number)) {
    stage.busy = true;
    return true;
  }
  if (in_order) {
    // The tokens that have not passed the stage have consecutive numbers: each has a place.
    stage.waiting[static_cast<std::size_t>(token.number) % token_count_] = &token;
  } else {
    stage.waiting.push_back(&token);
  }
  return false;
}

void Tokens::leave(Token& token) {
  if (marks_[token.stage] == 's') sync::publish(&marks_[token.stage]);
  Token* next = nullptr;
  {
    const sync::Quiet quiet;
    const sync::Lock lock(mutex_);
    StageState& stage = stages_[token.stage];
    ++token.stage;
    if (stage.mode == StageMode::parallel) return;
    stage.busy = false;
    if (stage.mode == StageMode::serial_in_order) {
      ++stage.next;
      next = std::exchange(stage.waiting[static_cast<std::size_t>(stage.next) % token_count_],
                           nullptr);
    } else if (!stage.waiting.empty()) {
      next = stage.waiting.front();
      stage.waiting.erase(stage.waiting.begin());
    }
    if (next == nullptr) return;
    stage.busy = true;
    next->entered = true;
  }
  spawn(next);
}

}  // namespace shoal::loops
