// expect: shoal: combine\(a, b\) of WorkerLocal takes and returns values of its type
// lines: <= 25
#include <shoal/worker_local.hpp>

int sum(shoal::WorkerLocal<int>& sums) {
  return sums.combine([](int& a, int b) { a += b; });
}
