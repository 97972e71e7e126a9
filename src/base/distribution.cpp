#include <shoal/distribution.hpp>

#include <shoal/detail/base/check.hpp>

#include <algorithm>
#include <utility>

namespace shoal {

Distribution::Distribution(Kind kind, std::size_t size, int ranks)
    : size_(size), ranks_(static_cast<std::size_t>(ranks)), kind_(kind) {
  SHOAL_CHECK(ranks > 0, "a distribution over {} ranks: there is at least one", ranks);
}

Distribution Distribution::balanced(std::size_t size, int ranks) {
  return {Kind::balanced, size, ranks};
}

Distribution Distribution::blocked(std::size_t size, int ranks) {
  Distribution made(Kind::block_cyclic, size, ranks);
  made.block_ = std::max<std::size_t>(1, (size + made.ranks_ - 1) / made.ranks_);
  return made;
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
  lists->owned.resize(made.ranks_);
  for (std::size_t i = 0; i < owners.size(); ++i) {
    made.check(owners[i]);
    auto& owned = lists->owned[static_cast<std::size_t>(owners[i].value())];
    lists->locations.push_back({owners[i], owned.size()});
    owned.push_back(i);
  }
  made.lists_ = std::move(lists);
  return made;
}

void Distribution::refuse(std::size_t index) const {
  throw CheckError(detail::format_text("there is no element {}: there are {}", index, size_));
}

void Distribution::check(Rank rank) const {
  SHOAL_CHECK(rank >= 0 && rank < ranks(), "there is no rank {}: the elements are on ranks 0 to {}",
              rank.value(), ranks() - 1);
}

std::size_t Distribution::first(std::size_t rank) const {
  return rank * (size_ / ranks_) + std::min(rank, size_ % ranks_);
}

Distribution::Location Distribution::locate_otherwise(std::size_t index) const {
  if (kind_ == Kind::arbitrary) return lists_->locations[index];
  const std::size_t least = size_ / ranks_;
  const std::size_t larger = size_ % ranks_ * (least + 1);  // elements of ranks with one more
  const std::size_t rank =
      index < larger ? index / (least + 1) : size_ % ranks_ + (index - larger) / least;
  return {Rank(static_cast<int>(rank)), index - first(rank)};
}

std::size_t Distribution::count(Rank rank) const {
  check(rank);
  const auto number = static_cast<std::size_t>(rank.value());
  if (kind_ == Kind::arbitrary) return lists_->owned[number].size();
  if (kind_ == Kind::balanced) return first(number + 1) - first(number);
  const std::size_t round = block_ * ranks_;
  const std::size_t rest = size_ % round;
  const std::size_t before = number * block_;
  return size_ / round * block_ + (rest > before ? std::min(rest - before, block_) : 0);
}

std::size_t Distribution::count_max() const {
  std::size_t most = 0;
  for (int rank = 0; rank < ranks(); ++rank) most = std::max(most, count(Rank(rank)));
  return most;
}

std::size_t Distribution::index(Rank rank, std::size_t place) const {
  SHOAL_CHECK(place < count(rank), "rank {} has no element at place {}: it has {}", rank.value(),
              place, count(rank));
  const auto number = static_cast<std::size_t>(rank.value());
  if (kind_ == Kind::arbitrary) return lists_->owned[number][place];
  if (kind_ == Kind::balanced) return first(number) + place;
  return (place / block_ * ranks_ + number) * block_ + place % block_;
}

std::size_t Distribution::run(std::size_t index) const {
  const Location here = locate(index);
  if (kind_ == Kind::block_cyclic) return std::min(block_ - index % block_, size_ - index);
  std::size_t count = 1;
  if (kind_ == Kind::balanced) {
    return first(static_cast<std::size_t>(here.owner.value()) + 1) - index;
  }
  while (index + count < size_ && owner(index + count) == here.owner) ++count;
  return count;
}

std::uint64_t Distribution::signature() const {
  std::uint64_t hash = 0;
  const auto mix = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  };
  mix(static_cast<std::uint64_t>(kind_));
  for (const std::size_t value : {size_, ranks_, block_}) mix(value);
  if (lists_ != nullptr) {
    for (const Location& one : lists_->locations) {
      mix(static_cast<std::uint64_t>(one.owner.value()));
    }
  }
  return hash;
}

}  // namespace shoal
