// expect: shoal: parallel_sort\(\) moves elements with random access that are not const
// lines: <= 20
#include <shoal/loops.hpp>

#include <vector>

void sort(const std::vector<double>& values) { shoal::parallel_sort(values); }
