#include "bfs/search.hpp"

#include <shoal/base/check.hpp>

#include <functional>
#include <utility>

#include "bfs/async_search.hpp"
#include "bfs/event_search.hpp"
#include "bfs/level_search.hpp"

namespace bfs {
namespace {

using Make = std::unique_ptr<Search> (*)(const SearchContext& context);

template <class Variant>
std::unique_ptr<Search> make(const SearchContext& context) {
  return std::make_unique<Variant>(context);
}

// A new variant is one more line here.
constexpr std::pair<const char*, Make> kVariants[] = {
    {"async", &make<AsyncSearch>},
    {"events", &make<EventSearch>},
    {"level_am", &make<LevelSearch>},
};

}  // namespace

std::vector<std::string> search_variants() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kVariants) names.emplace_back(name);
  return names;
}

std::unique_ptr<Search> make_search(const std::string& variant, const SearchContext& context) {
  for (const auto& [name, make] : kVariants) {
    if (name == variant) return make(context);
  }
  SHOAL_CHECK(false, "there is no variant '{}' of the search", variant);
  return nullptr;
}

}  // namespace bfs
