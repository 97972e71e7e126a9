// expect: shoal: a received std::span views the message
// lines: <= 30
#include <shoal/archive.hpp>

auto receive(std::span<const std::byte> bytes) { return shoal::decode<std::span<int>>(bytes); }
