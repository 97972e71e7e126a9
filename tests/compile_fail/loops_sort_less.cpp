// expect: shoal: less\(a, b\) of parallel_sort\(\) takes two elements
// lines: <= 20
#include <shoal/loops.hpp>

#include <vector>

struct Point {
  int x;
};

void sort(std::vector<Point>& points) { shoal::parallel_sort(points); }
