#include <shoal/detail/trace/event.hpp>

namespace shoal::trace {

namespace {

constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "task", "message", "sched", "term", "event", "memory", "user"};

using KindTable = std::array<KindInfo, static_cast<std::size_t>(Kind::last) + 1>;

constexpr KindTable kKinds = {{
    {Kind::none, Category::user, Role::instant, "none"},
    {Kind::task_created, Category::task, Role::instant, "task created"},
    {Kind::task_ready, Category::task, Role::instant, "task ready"},
    {Kind::task_started, Category::task, Role::begin, "task started"},
    {Kind::task_parked, Category::task, Role::end, "task parked"},
    {Kind::task_resumed, Category::task, Role::begin, "task resumed"},
    {Kind::task_ended, Category::task, Role::end, "task ended"},
    {Kind::message_sent, Category::message, Role::instant, "message sent"},
    {Kind::message_received, Category::message, Role::instant, "message received"},
    {Kind::message_handled, Category::message, Role::begin, "handler begins"},
    {Kind::message_done, Category::message, Role::end, "handler ends"},
    {Kind::large_phase, Category::message, Role::instant, "phase of a large message"},
    {Kind::window_full, Category::message, Role::begin, "window full"},
    {Kind::window_open, Category::message, Role::end, "window open"},
    {Kind::collective_begin, Category::message, Role::begin, "collective begins"},
    {Kind::collective_end, Category::message, Role::end, "collective ends"},
    {Kind::steal, Category::sched, Role::instant, "steal"},
    {Kind::sleep, Category::sched, Role::begin, "sleep"},
    {Kind::wake, Category::sched, Role::end, "wake"},
    {Kind::progress_begin, Category::sched, Role::begin, "progress begins"},
    {Kind::progress_end, Category::sched, Role::end, "progress ends"},
    {Kind::wave, Category::term, Role::instant, "detection wave"},
    {Kind::event_fired, Category::event, Role::instant, "event fired"},
    {Kind::event_matched, Category::event, Role::instant, "event matched"},
    {Kind::memory_counter, Category::memory, Role::counter, "memory"},
    {Kind::span_begin, Category::user, Role::begin, "span begins"},
    {Kind::span_end, Category::user, Role::end, "span ends"},
    {Kind::mark, Category::user, Role::instant, "mark"},
    {Kind::counter, Category::user, Role::counter, "counter"},
    {Kind::lost, Category::user, Role::instant, "events lost"},
    {Kind::region_begin, Category::user, Role::instant, "region begins"},
    {Kind::region_end, Category::user, Role::instant, "region ends"},
    {Kind::thread_counter, Category::sched, Role::counter, "time of a thread"},
    {Kind::task_submitted, Category::task, Role::instant, "task submitted"},
}};

constexpr bool in_order(const KindTable& table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order(kKinds), "the table is indexed by the kind's number");

}  // namespace

std::string_view name_of(Category category) {
  return kCategoryNames.at(static_cast<std::size_t>(category));
}

std::optional<std::uint32_t> parse_categories(std::string_view text) {
  if (text == "all") return kAllCategories;
  std::uint32_t bits = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    std::uint32_t bit = 0;
    for (std::size_t i = 0; i < kCategoryCount; ++i) {
      if (kCategoryNames[i] == word) bit = 1U << i;
    }
    if (bit == 0) return std::nullopt;
    bits |= bit;
    if (comma == std::string_view::npos) return bits;
    text.remove_prefix(comma + 1);
  }
}

const KindTable& kinds() { return kKinds; }

const KindInfo& info_of(Kind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return kKinds[number < kKinds.size() ? number : 0];
}

}  // namespace shoal::trace
