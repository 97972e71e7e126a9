#include <shoal/am/handler.hpp>

#include <shoal/base/check.hpp>

#include <algorithm>
#include <string_view>

namespace shoal::messaging {

namespace {

// Filled by constructors of static objects, before main(); constant from the first use on.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit StaticHandler* g_first = nullptr;

}  // namespace

class StaticTable {
 public:
  static const StaticTable& instance() {
    static const StaticTable table;
    return table;
  }

  const std::vector<Handler>& handlers() const { return handlers_; }

 private:
  StaticTable() {
    std::vector<StaticHandler*> all;
    for (StaticHandler* h = g_first; h != nullptr; h = h->next_) all.push_back(h);
    // Stable: equal names (functions local to two files) keep the order of the binary.
    std::stable_sort(all.begin(), all.end(), [](const StaticHandler* a, const StaticHandler* b) {
      return a->handler_.name < b->handler_.name;
    });
    for (StaticHandler* h : all) {
      h->index_ = static_cast<int>(handlers_.size());
      handlers_.push_back(h->handler_);
    }
  }

  std::vector<Handler> handlers_;
};

StaticHandler::StaticHandler(const char* name, std::uint32_t signature, Delivery delivery,
                             Invoke invoke)
    : next_(g_first) {
  handler_.name = name;
  handler_.signature = signature;
  handler_.delivery = delivery;
  handler_.invoke = invoke;
  g_first = this;
}

std::uint32_t StaticHandler::index() const {
  SHOAL_CHECK(index_ >= 0,
              "the handler {} was loaded after the world started: load its library before run()",
              handler_.name);
  return static_cast<std::uint32_t>(index_);
}

// The name is __PRETTY_FUNCTION__ of a template whose first parameter is the function or closure:
// gcc writes "... [with auto Function = greet; ...]", clang "... [Function = &greet, ...]".
std::string short_name(const std::string& name) {
  for (const std::string_view key : {"Function = ", "Closure = "}) {
    std::size_t begin = name.rfind(key);
    if (begin == std::string::npos) continue;
    begin += key.size();
    if (begin < name.size() && name[begin] == '&') ++begin;
    std::size_t end = begin;
    int depth = 0;  // of brackets
    const auto ends = [](char c) { return c == ';' || c == ',' || c == ']'; };
    while (end < name.size() && (depth > 0 || !ends(name[end]))) {
      const char c = name[end++];
      if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    }
    return name.substr(begin, end - begin);
  }
  return name;
}

const std::vector<Handler>& static_handlers() { return StaticTable::instance().handlers(); }

std::uint64_t static_fingerprint() {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, 64 bit
  const auto mix = [&hash](unsigned char byte) { hash = (hash ^ byte) * 1099511628211ULL; };
  for (const Handler& handler : static_handlers()) {
    for (const char c : handler.name) mix(static_cast<unsigned char>(c));
    for (int shift = 0; shift < 32; shift += 8) {
      mix(static_cast<unsigned char>(handler.signature >> shift));
    }
    mix(static_cast<unsigned char>(handler.delivery));
  }
  return hash;
}

}  // namespace shoal::messaging
