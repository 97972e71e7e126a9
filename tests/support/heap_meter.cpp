// The operator new of programs of tests (heap_meter.hpp).

#include "support/heap_meter.hpp"

#if !defined(SHOAL_ASAN) && !defined(SHOAL_TSAN)
void* operator new(std::size_t n) { return shoal::testing::HeapMeter::take(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) {
  return shoal::testing::HeapMeter::take(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { shoal::testing::HeapMeter::give_back(p); }
void operator delete(void* p, std::size_t) noexcept { shoal::testing::HeapMeter::give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept {
  shoal::testing::HeapMeter::give_back(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  shoal::testing::HeapMeter::give_back(p);
}
#endif
