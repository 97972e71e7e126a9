// expect: shoal: a datum is written while it is acquired, and a temporary gives it back
// lines: <= 12
#include <shoal/shoal.hpp>

#include <span>

void make(shoal::Flow& flow, shoal::Data<std::span<double>> numbers) {
  for (double& number : flow.acquire(shoal::write(numbers)).get()) number = 1;
}
