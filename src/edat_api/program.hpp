#pragma once
// The one world of a program that uses edat.h.

#include "c_api/payload.hpp"
#include "edat_api/configuration.hpp"

#include <shoal/edat/edat.h>
#include <shoal/env/alarm.hpp>
#include <shoal/env/env.hpp>
#include <shoal/event/events.hpp>
#include <shoal/runtime/world.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shoal::edat_api {

/// Events as EDAT shows them: with data of their own, which the program may change.
class Shown {
 public:
  explicit Shown(const EventList& events);
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

  [[nodiscard]] EDAT_Event* events() { return shown_.data(); }
  [[nodiscard]] int count() const { return static_cast<int>(shown_.size()); }

 private:
  struct Copy {
    std::string name;
    std::unique_ptr<std::byte[]> data;  // aligned as operator new aligns
  };
  std::vector<Copy> copies_;
  std::vector<EDAT_Event> shown_;
};

/// What belongs to a task, or to a thread of the program.
struct Belongings {
  std::set<std::string, std::less<>> locks;
  std::vector<std::unique_ptr<Shown>> shown;  // what edatWait and edatRetrieveAny returned
};
Belongings& belongings();

/// The world runs on a thread of its own, from edatInit to edatFinalise. In between the program's
/// own threads may fire and submit: a Hold keeps the world from ending.
class Program {
 public:
  explicit Program(Configuration configuration);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// **Blocks**: until events can be fired, or the world has ended without coming so far.
  /// Returns whether it runs.
  bool start();
  /// **Blocks**: until the world has ended. Returns its exit code.
  int finish();

  // From start() to finish().
  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] Events& events() const { return *events_; }
  [[nodiscard]] c_api::Contexts& contexts() { return contexts_; }

 private:
  void run();
  void run_main(World& world);
  void report_workers(World& world) const;

  const Configuration configuration_;
  const std::unique_ptr<env::Env> env_;
  const std::unique_ptr<env::Parker> starter_;  // of the thread in start()
  c_api::Contexts contexts_;
  // The world's thread writes them before it wakes the starter; finish() ends them.
  World* world_ = nullptr;
  Events* events_ = nullptr;
  std::optional<Hold> hold_;
  int exit_code_ = 0;
  std::optional<env::Thread> thread_;  // the last member: it uses the others
};

}  // namespace shoal::edat_api
