// expect: shoal: each attempt of a task with retries begins with a copy of its function
// lines: <= 20
#include <shoal/shoal.hpp>

#include <memory>
#include <utility>

void add(shoal::Flow& flow, shoal::Data<int> count, std::unique_ptr<int> by) {
  flow.insert([by = std::move(by)](int& n) { n += *by; }, read_write(count),
              shoal::with_retries(2));
}
