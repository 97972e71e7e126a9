#pragma once
// The kernels about tasks: configuration and checks are the same for all sides.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/stopwatch.hpp"
#include "common/tally.hpp"

namespace bench::tasks {

/// Independent tasks, made by the main function (tasktorrent paper, Fig. 5).
class Flood {
 public:
  std::uint64_t tasks = 1'000'000;
  double body_us = 0;
  bool ready = false;  // all are made before the clock starts and any of them runs

  void run_task() {
    tally_.add();
    spin_us(body_us);
  }
  /// Throws unless the tasks have run `times` times.
  void check(int times) const;

 private:
  Tally tally_;
};

/// Task (i, j) makes possible ((i + k) mod rows, j + 1) for 0 <= k < dependencies (Fig. 6).
class Grid {
 public:
  int rows = 32;
  int columns = 10'000;
  int dependencies = 1;
  double body_us = 0;
  bool every_edge = false;  // checks them all, not only that each row goes from left to right

  [[nodiscard]] int row_before(int i, int k) const { return (i + rows - k) % rows; }
  [[nodiscard]] int row_behind(int i, int k) const { return (i + k) % rows; }

  /// Before each run.
  void start() { last_ = std::vector<Last>(static_cast<std::size_t>(rows)); }
  void run_task(int i, int j) {
    if (!may_run(i, j)) wrong_.fetch_add(1, std::memory_order_relaxed);  // seldom, and only counted
    last_[static_cast<std::size_t>(i)].column.store(j, std::memory_order_relaxed);
    spin_us(body_us);
  }
  /// Throws unless every task has run, and after those that it depends on.
  void check() const;

 private:
  // Relaxed: what orders the tasks is what is measured.
  struct alignas(64) Last {
    std::atomic<int> column{-1};
  };
  [[nodiscard]] int last(int i) const {
    return last_[static_cast<std::size_t>(i)].column.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool may_run(int i, int j) const {
    if (last(i) != j - 1) return false;
    if (!every_edge) return true;
    for (int k = 1; k < dependencies; ++k) {
      if (last(row_before(i, k)) < j - 1) return false;
    }
    return true;
  }

  std::vector<Last> last_;
  std::atomic<int> wrong_{0};
};

/// The n-th Fibonacci number: each call above 1 spawns one of its two calls as a task.
class Fib {
 public:
  int n = 30;

  [[nodiscard]] std::uint64_t spawns() const;
  void check(std::uint64_t answer) const;
};

/// Ways to put n queens on a board of n x n: a task for every safe place of the next row.
class Queens {
 public:
  static constexpr int kSizeMax = 12;
  int n = 10;

  class Board {
   public:
    [[nodiscard]] bool is_safe(int column) const;
    [[nodiscard]] Board with(int column) const;
    [[nodiscard]] int row() const { return row_; }

   private:
    std::array<std::int8_t, kSizeMax> columns_{};
    int row_ = 0;  // the first without a queen
  };

  [[nodiscard]] std::uint64_t spawns() const;
  void check(std::uint64_t answer) const;
};

/// Tasks that take turns: each lets the others run, `rounds` times.
class Switching {
 public:
  int tasks = 2;
  int rounds = 500'000;

  void add_turn() { tally_.add(); }
  void check(int times) const;

 private:
  Tally tally_;
};

/// A task starts another one and waits for what it returns, `rounds` times, one by one.
class RoundTrips {
 public:
  int rounds = 500'000;

  void check(std::uint64_t sum) const;
};

/// Tasks that take the same lock; its owner lets the others run, so that the lock is handed over.
class HandOver {
 public:
  int tasks = 4;
  int rounds = 100'000;  // of each task

  /// Under the lock, before and after the others were let run.
  void enter() { wrong_ += inside_++ == 0 ? 0 : 1; }
  void leave() {
    --inside_;
    ++count_;
  }
  void check(int times) const;

 private:
  // Protected by the lock that is measured.
  int inside_ = 0;
  int wrong_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace bench::tasks
