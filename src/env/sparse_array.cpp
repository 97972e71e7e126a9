#include "env/sparse_array.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "env/freed_memory.hpp"

namespace shoal::env {

namespace {

/// Below this size, a page of its own wastes more than it saves.
constexpr std::size_t kMappedMin = std::size_t{16} << 10U;

}  // namespace

ZeroedMemory::ZeroedMemory(std::size_t size_bytes) : size_bytes_(size_bytes), data_(nullptr) {
  if (size_bytes_ < kMappedMin) {
    data_ = std::calloc(1, size_bytes_ + 1);  // never of no bytes
    if (data_ == nullptr) throw std::bad_alloc();
    return;
  }
  data_ = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data_ == MAP_FAILED) throw std::bad_alloc();
  forget_frames(data_, size_bytes_);
  static_cast<void>(madvise(data_, size_bytes_, MADV_NOHUGEPAGE));
}

ZeroedMemory::~ZeroedMemory() {
  if (size_bytes_ < kMappedMin) {
    std::free(data_);
  } else {
    munmap(data_, size_bytes_);
  }
}

}  // namespace shoal::env
