#include "common/cache_order.hpp"

namespace apps {
namespace {

constexpr int kLargestSide = 6;
constexpr int kSquaresPerWorker = 4;

int side_of_squares(int rows, int columns, int workers) {
  int side = kLargestSide;
  while (side > 1 && rows / side * (columns / side) < kSquaresPerWorker * workers) --side;
  return side;
}

}  // namespace

CacheOrder::CacheOrder(int rows, int columns, int depth, int workers)
    : side_(side_of_squares(rows, columns, workers)),
      depth_(depth),
      squares_down_(rows / side_ + 1),
      squares_across_(columns / side_ + 1) {}

}  // namespace apps
