#include <shoal/c_api/trace.h>

#include <shoal/trace.hpp>

namespace {

using shoal::trace::Category;
using shoal::trace::Kind;

bool records() { return shoal::trace::on(Category::user); }

shoal::trace::NameId name_of(const char* name) {
  return name == nullptr ? 0 : shoal::trace::detail::name_of(name);
}

}  // namespace

std::uint64_t shoal_trace_begin(const char* name) {
  if (!records()) return 0;
  const std::uint64_t span = shoal::trace::new_id();
  shoal::trace::detail::record(Kind::span_begin, span, 0, name_of(name));
  return span;
}

void shoal_trace_end(std::uint64_t span) {
  if (span != 0) shoal::trace::detail::record(Kind::span_end, span, 0, 0);
}

void shoal_trace_mark(const char* name, std::uint64_t value) {
  if (records()) shoal::trace::detail::record(Kind::mark, 0, value, name_of(name));
}

void shoal_trace_counter(const char* name, double value) {
  if (records()) {
    shoal::trace::detail::record(Kind::counter, 0, std::bit_cast<std::uint64_t>(value),
                                 name_of(name));
  }
}

void shoal_trace_resume(void) { shoal::trace::resume(); }

void shoal_trace_pause(void) { shoal::trace::pause(); }

int shoal_trace_on(void) { return records() ? 1 : 0; }
