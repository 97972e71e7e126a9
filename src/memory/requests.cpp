#include "memory/requests.hpp"

#include <utility>

namespace shoal::memory {

RequestId Requests::add(Request request) {
  const int target = request.target;
  return slots_.add(std::move(request), target);
}

Request Requests::take(const RequestId& id) {
  std::optional<Request> request = slots_.take(id);
  return request ? std::move(*request) : Request();
}

std::vector<Request> Requests::take_all() {
  std::vector<Request> all;
  slots_.take_all([&all](Request request) { all.push_back(std::move(request)); });
  return all;
}

std::map<int, std::uint64_t> Requests::counts() const {
  std::map<int, std::uint64_t> counts;
  slots_.for_each_label([&counts](int target) { ++counts[target]; });
  return counts;
}

}  // namespace shoal::memory
