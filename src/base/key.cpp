#include <shoal/key.hpp>

#include <fmt/format.h>

#include <locale>
#include <sstream>

namespace shoal::detail {

std::string streamed(const void* key, void (*write)(std::ostream& out, const void* key)) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  write(out, key);
  return std::move(out).str();
}

std::string text_of_hash(std::uint64_t hash) {
  return fmt::format("<key with hash {:#018x}>", hash);
}

}  // namespace shoal::detail
