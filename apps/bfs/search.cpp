#include "bfs/search.hpp"

#include <shoal/detail/base/check.hpp>

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
  constexpr std::size_t kVerticesPerRankMax = std::size_t{1} << 32;  // a Visit has 32 bits for each
  SHOAL_CHECK(context.partition.size(shoal::Rank(0)) <= kVerticesPerRankMax,
              "a rank has {} vertices, and may have {}: use more ranks",
              context.partition.size(shoal::Rank(0)), kVerticesPerRankMax);
  for (const auto& [name, make] : kVariants) {
    if (name == variant) return make(context);
  }
  SHOAL_CHECK(false, "there is no variant '{}' of the search", variant);
  return nullptr;
}

}  // namespace bfs
