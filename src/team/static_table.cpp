#include <shoal/detail/team/handler.hpp>

#include <shoal/detail/base/check.hpp>
#include <shoal/detail/base/type_name.hpp>

#include "base/fnv1a.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace shoal::team {

namespace {

/// Functions of shoal itself that are handlers or methods, by the beginning of their names, and how
/// users know what they do.
struct OwnHandler {
  std::string_view begin;
  const char* shown;
};
constexpr std::array kOwnHandlers{
    OwnHandler{"shoal::Team::accept_invitation", "launch_team()"},
    OwnHandler{"shoal::Team::", "a message to a team by its handle"},
    OwnHandler{"shoal::team::Replies::", "the answer to a call"},
    OwnHandler{"shoal::team::Pieces::", "a collective operation"},
    OwnHandler{"shoal::collective_payload", "a collective operation"},
    OwnHandler{"shoal::multicast_segment", "a large multicast"},
    OwnHandler{"shoal::team::PayloadMulticasts::", "a large multicast"},
    OwnHandler{"shoal::object::carry", "an invocation that is passed on by rank 0 of its team"},
    OwnHandler{"shoal::object::", "an operation of distributed objects"},
    OwnHandler{"shoal::python::Representative::", "a method of Python"},
    OwnHandler{"shoal::python::deliver", "a message of Python"},
    OwnHandler{"shoal::python::serve", "a call of Python"},
    OwnHandler{"shoal::python::fail_call", "the exception of a call"},
};

// Filled by constructors of static objects, before main(); constant from the first use on.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit StaticHandler* g_first = nullptr;

}  // namespace

std::string shown_to_users(const std::string& name) {
  // A NamedFunction or NamedClosure, see CallHandler.
  constexpr std::string_view kNamed = "shoal::team::Named";
  if (name.starts_with(kNamed)) {
    return "call of " + naming::first_argument(std::string_view(name).substr(name.find('<') + 1));
  }
  const auto own = std::ranges::find_if(
      kOwnHandlers, [&name](const OwnHandler& one) { return name.starts_with(one.begin); });
  return own != kOwnHandlers.end() ? own->shown : name;
}

class StaticTable {
 public:
  static const StaticTable& instance() {
    static const StaticTable table;
    return table;
  }

  const std::vector<Handler>& handlers() const { return handlers_; }
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// Name for users. A static handler is called by the spelling of a function of a class template:
  /// see StaticFunction, StaticClosure and CallHandler.
  static std::string name_of(const std::string& pretty) {
    for (const std::string_view key : {"Function", "Closure", "Named"}) {
      const std::string name = naming::readable(pretty, key);
      if (name != pretty) return shown_to_users(name);
    }
    return shown_to_users(pretty);
  }

 private:
  StaticTable() {
    std::vector<StaticHandler*> all;
    for (StaticHandler* h = g_first; h != nullptr; h = h->next_) all.push_back(h);
    // Stable: equal names (functions local to two files) keep the order of the binary.
    std::stable_sort(all.begin(), all.end(), [](const StaticHandler* a, const StaticHandler* b) {
      return a->handler_.name < b->handler_.name;
    });
    for (StaticHandler* h : all) {
      h->index_ = static_cast<int>(handlers_.size());
      mix(h->handler_);
      handlers_.push_back(h->handler_);
      handlers_.back().name = name_of(h->handler_.name);
    }
  }

  /// Mixes the handler into the fingerprint, by the spelling of its template: names that users see
  /// may be equal.
  void mix(const Handler& handler) {
    const auto delivery = static_cast<std::uint32_t>(handler.delivery);
    const std::array<std::uint32_t, 2> rest{handler.signature, delivery};
    fingerprint_ = fnv1a64(handler.name, fingerprint_);
    fingerprint_ =
        fnv1a64({reinterpret_cast<const char*>(rest.data()), sizeof(rest)}, fingerprint_);
  }

  std::vector<Handler> handlers_;
  std::uint64_t fingerprint_ = fnv1a64("");
};

StaticHandler::StaticHandler(const char* name, std::uint32_t signature, Delivery delivery,
                             Invoke invoke, Late late, Describe describe)
    : next_(g_first) {
  handler_.name = name;
  handler_.signature = signature;
  handler_.delivery = delivery;
  handler_.invoke = invoke;
  handler_.late = late;
  handler_.describe = describe;
  g_first = this;
}

std::uint32_t StaticHandler::index() const {
  SHOAL_CHECK(index_ >= 0,
              "the handler '{}' was loaded after the world started: load its library before run()",
              StaticTable::name_of(handler_.name));
  return static_cast<std::uint32_t>(index_);
}

const std::vector<Handler>& static_handlers() { return StaticTable::instance().handlers(); }

std::uint64_t static_fingerprint() { return StaticTable::instance().fingerprint(); }

}  // namespace shoal::team
