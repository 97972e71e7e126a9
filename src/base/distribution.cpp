#include <shoal/distribution.hpp>

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <utility>

namespace shoal {

Distribution Distribution::balanced(std::size_t size, int ranks) {
  return {Kind::balanced, size, ranks};
}

Distribution Distribution::block_cyclic(std::size_t size, int ranks, std::size_t block) {
  SHOAL_CHECK(block > 0, "a block-cyclic distribution needs blocks of at least one element");
  Distribution made(Kind::block_cyclic, size, ranks);
  made.block_ = block;
  return made;
}

Distribution Distribution::arbitrary(std::vector<Rank> owners, int ranks) {
  auto lists = std::make_shared<Lists>();
  Distribution made(Kind::arbitrary, owners.size(), ranks);
  lists->owned.resize(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < owners.size(); ++i) {
    made.check(owners[i]);
    auto& owned = lists->owned[static_cast<std::size_t>(owners[i].value())];
    lists->places.push_back(owned.size());
    owned.push_back(i);
  }
  lists->owners = std::move(owners);
  made.lists_ = std::move(lists);
  return made;
}

void Distribution::check(std::size_t index) const {
  SHOAL_CHECK(index < size_, "there is no element {}: there are {}", index, size_);
}

void Distribution::check(Rank rank) const {
  SHOAL_CHECK(rank >= 0 && rank < ranks_, "there is no rank {}: the elements are on ranks 0 to {}",
              rank.value(), ranks_ - 1);
}

std::size_t Distribution::first(int rank) const {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const auto before = static_cast<std::size_t>(rank);
  return before * (size_ / ranks) + std::min(before, size_ % ranks);
}

Rank Distribution::owner(std::size_t index) const {
  check(index);
  if (kind_ == Kind::arbitrary) return lists_->owners[index];
  const auto ranks = static_cast<std::size_t>(ranks_);
  if (kind_ == Kind::block_cyclic) return Rank(static_cast<int>(index / block_ % ranks));
  const std::size_t least = size_ / ranks;
  const std::size_t larger = size_ % ranks * (least + 1);  // elements of ranks with one more
  const std::size_t rank =
      index < larger ? index / (least + 1) : size_ % ranks + (index - larger) / least;
  return Rank(static_cast<int>(rank));
}

std::size_t Distribution::place(std::size_t index) const {
  check(index);
  if (kind_ == Kind::arbitrary) return lists_->places[index];
  if (kind_ == Kind::balanced) return index - first(owner(index).value());
  const std::size_t round = index / (block_ * static_cast<std::size_t>(ranks_));
  return round * block_ + index % block_;
}

std::size_t Distribution::count(Rank rank) const {
  check(rank);
  const auto number = static_cast<std::size_t>(rank.value());
  if (kind_ == Kind::arbitrary) return lists_->owned[number].size();
  if (kind_ == Kind::balanced) return first(rank.value() + 1) - first(rank.value());
  const std::size_t round = block_ * static_cast<std::size_t>(ranks_);
  const std::size_t rest = size_ % round;
  const std::size_t before = number * block_;
  return size_ / round * block_ + (rest > before ? std::min(rest - before, block_) : 0);
}

std::size_t Distribution::index(Rank rank, std::size_t place) const {
  SHOAL_CHECK(place < count(rank), "rank {} has no element at place {}: it has {}", rank.value(),
              place, count(rank));
  const auto number = static_cast<std::size_t>(rank.value());
  if (kind_ == Kind::arbitrary) return lists_->owned[number][place];
  if (kind_ == Kind::balanced) return first(rank.value()) + place;
  return place / block_ * block_ * static_cast<std::size_t>(ranks_) + number * block_ +
         place % block_;
}

}  // namespace shoal
