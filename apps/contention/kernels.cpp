#include "contention/kernels.hpp"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace contention {
namespace {

constexpr double kScalar = 0.5;
constexpr std::size_t kLine = 8;  // elements that triad repeats its operation on
constexpr std::uint32_t kPrimesFrom = 1'000'000;
constexpr std::uint32_t kPrimesTo = 1'000'400;
constexpr int kPolls = 100;  // of a pass

using Values = std::span<double>;

Values values_of(std::span<std::byte> memory, std::size_t part, std::size_t parts) {
  const std::size_t count = memory.size() / sizeof(double) / parts / kLine * kLine;
  return {reinterpret_cast<double*>(memory.data()) + part * count, count};
}

/// Stores that go around the caches, as far as the processor has them.
double fill(Values a) {
#if defined(__x86_64__)
  const __m128d value = _mm_set1_pd(kScalar);
  for (std::size_t i = 0; i < a.size(); i += 2) _mm_stream_pd(a.data() + i, value);
  _mm_sfence();
#else
  std::ranges::fill(a, kScalar);
#endif
  return static_cast<double>(a.size_bytes());
}

double copy(Values a, Values b) {
  for (std::size_t i = 0; i < a.size(); ++i) b[i] = a[i];
  return static_cast<double>(a.size_bytes() + b.size_bytes());
}

/// Parts that the arrays of triad are worked on in, one for each pass, so that a pass with many
/// operations on each element does not take long.
std::size_t parts_of(Values a, int work) {
  constexpr std::size_t kWorkMax = 8;  // of a pass over all elements
  return std::clamp<std::size_t>(static_cast<std::size_t>(work) / kWorkMax, 1,
                                 std::max<std::size_t>(1, a.size() / kLine));
}

double triad(Values a, Values b, Values c, int work, std::size_t turn) {
  const std::size_t parts = parts_of(a, work);
  const std::size_t count = a.size() / parts / kLine * kLine;
  const std::size_t first = turn % parts * count;
  a = a.subspan(first, count);
  b = b.subspan(first, count);
  c = c.subspan(first, count);
  for (std::size_t i = 0; i < a.size(); i += kLine) {
    double line[kLine];
    for (std::size_t j = 0; j < kLine; ++j) line[j] = a[i + j];
    for (int pass = 0; pass < work; ++pass) {
      for (std::size_t j = 0; j < kLine; ++j) line[j] = b[i + j] + kScalar * line[j];
    }
    for (std::size_t j = 0; j < kLine; ++j) c[i + j] = line[j];
  }
  return static_cast<double>(3 * a.size_bytes());
}

/// Counts primes by trial division, with a few integers only.
double primes() {
  double divisions = 0;
  std::uint32_t found = 0;
  for (std::uint32_t n = kPrimesFrom; n < kPrimesTo; ++n) {
    std::uint32_t divisor = 2;
    while (divisor * divisor <= n && n % divisor != 0) ++divisor;
    divisions += divisor - 1;
    found += divisor * divisor > n ? 1 : 0;
  }
  return divisions + (found == 0 ? 1 : 0);  // so that it is used
}

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// Takes a lock that all polling threads share, as workers that look for tasks do.
double poll(int pauses, std::atomic<bool>& locked) {
  for (int i = 0; i < kPolls; ++i) {
    if (!locked.exchange(true, std::memory_order_acquire)) {
      locked.store(false, std::memory_order_release);
    }
    for (int p = 0; p < pauses; ++p) pause();
  }
  return kPolls;
}

}  // namespace

double run_pass(const Point& point, std::span<std::byte> memory, std::size_t turn,
                std::atomic<bool>& lock) {
  switch (point.kernel) {
    case Kernel::none:
      return 0;
    case Kernel::fill:
      return fill(values_of(memory, 0, 1));
    case Kernel::copy:
      return copy(values_of(memory, 0, 2), values_of(memory, 1, 2));
    case Kernel::triad:
      return triad(values_of(memory, 0, 3), values_of(memory, 1, 3), values_of(memory, 2, 3),
                   point.work, turn);
    case Kernel::primes:
      return primes();
    case Kernel::poll:
      return poll(point.work, lock);
  }
  return 0;
}

}  // namespace contention
