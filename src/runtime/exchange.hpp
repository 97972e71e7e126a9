#pragma once
// Values that the processes of a world exchange outside of its messages.

#include <shoal/archive.hpp>
#include <shoal/detail/net/transport.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace shoal::runtime {

/// The values of all processes, in their order. Blocks: collective, see Transport::exchange().
template <class T>
std::vector<T> exchange_all(net::Transport& transport, const T& mine) {
  const std::vector<std::byte> bytes = encoded(mine);
  std::vector<T> all;
  for (const std::string& text :
       transport.exchange({reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    const std::vector<std::byte> aligned(first, first + text.size());
    all.push_back(std::get<0>(decode<T>(std::span<const std::byte>(aligned))));
  }
  return all;
}

}  // namespace shoal::runtime
