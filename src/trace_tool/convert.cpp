#include "trace_tool/convert.hpp"

#include <shoal/error.hpp>

#include "trace/insertion.hpp"
#include "trace_tool/model.hpp"
#include "trace_tool/slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <set>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace shoal::trace_tool {

namespace {

std::string json_text(const std::string& text) {
  using Json = nlohmann::ordered_json;
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// For formats that quote by '"' and know no escapes.
std::string plain(std::string text) {
  for (char& c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '\'';
  }
  return text;
}

std::string track_name(const TrackRow& track) {
  return track.name.empty() ? fmt::format("worker {}", track.worker) : track.name;
}

constexpr double kNsPerUs = 1000;

/// Red, green and blue of RRGGBB.
std::array<int, 3> colour_of(const std::string& text) {
  const unsigned long value = std::strtoul(text.c_str(), nullptr, 16);
  return {static_cast<int>(value >> 16U & 0xffU), static_cast<int>(value >> 8U & 0xffU),
          static_cast<int>(value & 0xffU)};
}

/// Chrome's format has colours by name only: those of its viewer for slices.
struct NamedColour {
  std::string_view name;
  std::array<int, 3> value;
};
constexpr std::array kNamedColours = std::to_array<NamedColour>({
    {"thread_state_running", {126, 200, 148}},
    {"thread_state_runnable", {133, 160, 210}},
    {"thread_state_iowait", {255, 140, 0}},
    {"thread_state_sleeping", {240, 240, 240}},
    {"background_memory_dump", {0, 180, 180}},
    {"light_memory_dump", {0, 0, 180}},
    {"detailed_memory_dump", {180, 0, 180}},
    {"vsync_highlight_color", {0, 0, 255}},
    {"generic_work", {125, 125, 125}},
    {"good", {0, 125, 0}},
    {"bad", {180, 125, 0}},
    {"terrible", {180, 0, 0}},
    {"black", {0, 0, 0}},
    {"rail_response", {67, 135, 253}},
    {"rail_animation", {244, 74, 63}},
    {"rail_idle", {238, 142, 0}},
    {"rail_load", {13, 168, 97}},
    {"startup", {230, 230, 0}},
    {"olive", {100, 100, 0}},
});

/// The one that is nearest to RRGGBB.
std::string_view named_colour(const std::string& text) {
  const std::array<int, 3> value = colour_of(text);
  const auto distance = [&value](const NamedColour& one) {
    int sum = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      sum += (value[i] - one.value[i]) * (value[i] - one.value[i]);
    }
    return sum;
  };
  return std::min_element(
             kNamedColours.begin(), kNamedColours.end(),
             [&](const NamedColour& a, const NamedColour& b) { return distance(a) < distance(b); })
      ->name;
}

/// Events of Chrome's format.
class Perfetto {
 public:
  Perfetto(Input& input, const std::string& path)
      : input_(input),
        file_(path),
        slices_(input,
                {[this](const Event& event, Kind kind, const std::string& name) {
                   begin(event, kind, name);
                 },
                 [this](std::uint64_t time, std::uint32_t track) { put("E", time, track, ""); }}) {
    for (const std::string& name : input.names()) names_.push_back(json_text(name));
    input.for_each_fact([this](trace::Fact fact, std::string_view name, std::string_view value) {
      const std::string text(value);
      if (fact == trace::Fact::colour) colours_.try_emplace(std::string(name), text);
      if (fact != trace::Fact::place) return;
      places_.try_emplace(std::string(name), text);
      texts_.try_emplace(trace::place_id(text), text);
    });
    input.for_each_relation([this](Detail::Type type, std::uint64_t id, std::uint64_t other) {
      if (type == trace::kInserted) insertions_.try_emplace(id, other);
    });
    input.for_each_key([this](std::uint64_t task, std::string_view key) { keys_[task] = key; });
  }

  void run() {
    file_.put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    describe_tracks();
    slices_.for_each([this](const Event& event) { add(event); });
    file_.put(fmt::format(
        "\n],\"otherData\":{}}}\n",
        input_.identity().dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)));
    file_.close();
  }

 private:
  void put(std::string_view phase, std::uint64_t time, std::uint32_t track, std::string_view rest) {
    const int rank = input_.track(track).rank;
    line_.clear();
    fmt::format_to(
        std::back_inserter(line_), "{}{{\"ph\":\"{}\",\"ts\":{:.3f},\"pid\":{},\"tid\":{}{}}}",
        is_first_ ? "" : ",\n", phase, static_cast<double>(time) / kNsPerUs, rank, track, rest);
    is_first_ = false;
    file_.put({line_.data(), line_.size()});
  }

  void describe_tracks() {
    std::set<int> ranks;
    for (std::uint32_t i = 0; i < input_.tracks().size(); ++i) {
      const TrackRow& track = input_.tracks()[i];
      if (ranks.insert(track.rank).second) {
        put("M", 0, i,
            fmt::format(R"(,"name":"process_name","args":{{"name":"rank {}"}})", track.rank));
      }
      put("M", 0, i,
          fmt::format(R"(,"name":"thread_name","args":{{"name":{}}})",
                      json_text(track_name(track))));
    }
  }

  void begin(const Event& event, Kind kind, const std::string& name) {
    const auto category = trace::name_of(trace::info_of(kind).category);
    std::string rest;
    std::string args;
    if (const auto colour = colours_.find(name); colour != colours_.end()) {
      rest = fmt::format(R"(,"cname":"{}")", named_colour(colour->second));
      args = fmt::format(R"("colour":"#{}")", colour->second);
    }
    if (const std::string* const place = place_of(event, kind, name); place != nullptr) {
      args += fmt::format(R"({}"place":{})", args.empty() ? "" : ",", json_text(*place));
    }
    const auto key = kind == Kind::task_started ? keys_.find(event.id) : keys_.end();
    if (key != keys_.end()) {
      args += fmt::format(R"({}"key":{})", args.empty() ? "" : ",", json_text(key->second));
    }
    if (!args.empty()) rest += fmt::format(R"(,"args":{{{}}})", args);
    put("B", event.time, event.track(),
        fmt::format(R"(,"cat":"{}","name":{}{})", category, json_text(name), rest));
  }

  /// In the source: where the task was inserted, or the first one of its name; nullptr: none.
  [[nodiscard]] const std::string* place_of(const Event& event, Kind kind,
                                            const std::string& name) const {
    const bool is_task = kind == Kind::task_started;
    const auto inserted = is_task ? insertions_.find(event.id) : insertions_.end();
    if (inserted != insertions_.end()) {
      const auto text = texts_.find(inserted->second);
      if (text != texts_.end()) return &text->second;
    }
    const auto of_name = places_.find(name);
    return of_name == places_.end() ? nullptr : &of_name->second;
  }

  void add(const Event& event) {
    const std::string& name = names_[event.name < names_.size() ? event.name : 0];
    switch (event.kind()) {
      case Kind::message_sent:
        flow("s", event, "send", name);
        break;
      case Kind::message_received:
        flow("t", event, "receive", "\"\"");
        break;
      case Kind::large_phase:
        if (name == announced_) payloads_.insert(event.id);
        break;
      case Kind::message_handled: {
        // A large message is handled twice: when it is announced, and with its payload.
        const bool is_announcement = payloads_.erase(event.id) != 0;
        flow_event(is_announcement ? "t" : "f", event, R"(,"bp":"e")");
        break;
      }
      case Kind::span_begin:
      case Kind::collective_begin:
        spans_[event.id] = event.name;
        async("b", event, name);
        break;
      case Kind::span_end:
      case Kind::collective_end:
        if (const auto span = spans_.find(event.id); span != spans_.end()) {
          async("e", event, names_[span->second < names_.size() ? span->second : 0]);
          spans_.erase(span);
        }
        break;
      case Kind::counter:
      case Kind::memory_counter:
        put("C", event.time, event.track(),
            fmt::format(R"(,"name":{},"args":{{"value":{:.17g}}})", name,
                        finite(std::bit_cast<double>(event.value))));
        break;
      case Kind::mark:
        put("i", event.time, event.track(), fmt::format(R"(,"s":"t","name":{})", name));
        break;
      default:
        break;
    }
  }

  static double finite(double value) { return value - value == 0 ? value : 0; }

  /// An arrow must begin and end on a slice: makes one of a nanosecond.
  void flow(std::string_view phase, const Event& event, std::string_view what,
            const std::string& name) {
    put("X", event.time, event.track(),
        fmt::format(
            R"(,"dur":0.001,"cat":"message","name":"{}","args":{{"handler":{},"bytes":{}}})", what,
            name, trace::size_bytes_of(event.value)));
    flow_event(phase, event, R"(,"bp":"e")");
  }
  void flow_event(std::string_view phase, const Event& event, std::string_view rest) {
    put(phase, event.time, event.track(),
        fmt::format(R"(,"cat":"message","name":"message","id":"{:#x}"{})", event.id, rest));
  }
  void async(std::string_view phase, const Event& event, const std::string& name) {
    put(phase, event.time, event.track(),
        fmt::format(R"(,"cat":"span","name":{},"id":"{:#x}")", name, event.id));
  }

  Input& input_;
  TextFile file_;
  Slices slices_;
  std::vector<std::string> names_;                        // as JSON
  std::unordered_map<std::string, std::string> colours_;  // RRGGBB, by name
  std::unordered_map<std::string, std::string> places_;   // FILE:LINE, the first one of each name
  std::unordered_map<std::uint64_t, std::string> texts_;  // of places, by place_id()
  std::unordered_map<std::uint64_t, std::uint64_t> insertions_;  // of tasks: their place_id()
  std::unordered_map<std::uint64_t, std::string> keys_;          // of tasks
  std::unordered_map<std::uint64_t, NameId> spans_;
  std::unordered_set<std::uint64_t> payloads_;  // large messages that were announced only
  const std::string announced_ = json_text("payload announced");
  fmt::memory_buffer line_;
  bool is_first_ = true;
};

constexpr std::string_view kPajeHeader = R"(%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineLinkType 2
% Alias string
% Type string
% StartContainerType string
% EndContainerType string
% Name string
%EndEventDef
%EventDef PajeDefineEventType 3
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 4
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 5
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajePushState 6
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 7
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeStartLink 8
% Time date
% Type string
% Container string
% Value string
% StartContainer string
% Key string
%EndEventDef
%EventDef PajeEndLink 9
% Time date
% Type string
% Container string
% Value string
% EndContainer string
% Key string
%EndEventDef
%EventDef PajeNewEvent 10
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajeDefineEntityValue 11
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
0 Run 0 "run"
0 Rank Run "rank"
0 Worker Rank "worker"
1 State Worker "state"
2 Message Run Worker Worker "message"
3 Mark Worker "mark"
4 0.000000000 run Run 0 "run"
)";

std::string seconds(std::uint64_t ns) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return fmt::format("{}.{:09}", ns / kNsPerSecond, ns % kNsPerSecond);
}

/// Messages of which both ends were recorded, and their ends.
std::unordered_map<std::uint64_t, const Message*> whole_messages(const Model& model) {
  std::unordered_map<std::uint64_t, const Message*> whole;
  for (const Message& message : model.messages) {
    if (message.sent != kNever && message.to_track != kNone) whole[message.id] = &message;
  }
  return whole;
}

}  // namespace

TextFile::TextFile(std::string path)
    : path_(std::move(path)), file_(path_ == "-" ? stdout : std::fopen(path_.c_str(), "wb")) {
  if (file_ == nullptr) fail("create");
}

TextFile::~TextFile() {
  if (!is_whole_ && path_ != "-") trace::remove_output(path_);
}

void TextFile::fail(const char* what) const {
  throw Error(fmt::format("{}: cannot {} this file: {}", path_ == "-" ? "standard output" : path_,
                          what, std::generic_category().message(errno)));
}

void TextFile::put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail("write");
}

void TextFile::close() {
  if (std::fclose(file_.release()) != 0) fail("write");
  is_whole_ = true;
}

void to_perfetto(Input& input, const std::string& path) { Perfetto(input, path).run(); }

void to_paje(Input& input, const std::string& path) {
  const Model model(input);
  const auto whole = whole_messages(model);
  TextFile file(path);
  file.put(kPajeHeader);
  for (const auto& [name, colour] : model.colours) {
    const auto value = colour_of(colour);
    const std::string plain_name = plain(name);
    file.put(fmt::format("11 \"{0}\" State \"{0}\" \"{1:.6f} {2:.6f} {3:.6f}\"\n", plain_name,
                         value[0] / 255.0, value[1] / 255.0, value[2] / 255.0));
  }
  std::set<int> ranks;
  for (std::size_t i = 0; i < input.tracks().size(); ++i) {
    const TrackRow& track = input.tracks()[i];
    if (ranks.insert(track.rank).second) {
      file.put(fmt::format("4 0.000000000 r{0} Rank run \"rank {0}\"\n", track.rank));
    }
    file.put(fmt::format("4 0.000000000 w{} Worker r{} \"rank {} {}\"\n", i, track.rank, track.rank,
                         plain(track_name(track))));
  }
  Slices slices(input, {[&](const Event& event, Kind /*kind*/, const std::string& name) {
                          file.put(fmt::format("6 {} State w{} \"{}\"\n", seconds(event.time),
                                               event.track(), plain(name)));
                        },
                        [&](std::uint64_t time, std::uint32_t track) {
                          file.put(fmt::format("7 {} State w{}\n", seconds(time), track));
                        }});
  const auto link = [&](const Event& event, int number) {
    const auto found = whole.find(event.id);
    if (found == whole.end()) return;
    file.put(fmt::format("{} {} Message run \"{}\" w{} {}\n", number, seconds(event.time),
                         plain(input.name(found->second->name)), event.track(), event.id));
  };
  slices.for_each([&](const Event& event) {
    if (event.kind() == Kind::message_sent) link(event, 8);
    const auto found = whole.find(event.id);
    const bool received = found != whole.end() && found->second->received != kNever;
    if (event.kind() == (received ? Kind::message_received : Kind::message_handled)) link(event, 9);
    if (event.kind() == Kind::mark) {
      file.put(fmt::format("10 {} Mark w{} \"{}\"\n", seconds(event.time), event.track(),
                           plain(input.name(event.name))));
    }
  });
  const std::string end = seconds(static_cast<std::uint64_t>(model.whole));
  for (std::size_t i = 0; i < input.tracks().size(); ++i) {
    file.put(fmt::format("5 {} Worker w{}\n", end, i));
  }
  for (const int rank : ranks) file.put(fmt::format("5 {} Rank r{}\n", end, rank));
  file.put(fmt::format("5 {} Run run\n", end));
  file.close();
}

void to_csv(Input& input, const std::string& path) {
  const auto quoted = [](const std::string& text) {
    std::string all = "\"";
    for (const char c : text) all += c == '"' ? std::string("\"\"") : std::string(1, c);
    return all + "\"";
  };
  std::vector<std::string> names;
  for (const std::string& name : input.names()) names.push_back(name.empty() ? "" : quoted(name));
  TextFile file(path);
  file.put("time_ns,rank,worker,track,category,event,id,value,name,peer\n");
  fmt::memory_buffer line;
  const auto put = [&](const Event& event) {
    const TrackRow& track = input.track(event.track());
    const trace::KindInfo& info = trace::info_of(event.kind());
    line.clear();
    fmt::format_to(std::back_inserter(line), "{},{},{},{},{},{},{},", event.time, track.rank,
                   track.worker, event.track(), trace::name_of(info.category), info.name, event.id);
    const bool has_peer = event.kind() == Kind::message_sent ||
                          event.kind() == Kind::message_received ||
                          event.kind() == Kind::large_phase;
    if (info.role == Role::counter) {
      fmt::format_to(std::back_inserter(line), "{:.17g}", std::bit_cast<double>(event.value));
    } else if (event.kind() == Kind::task_started) {  // its priority
      fmt::format_to(std::back_inserter(line), "{}", std::bit_cast<std::int64_t>(event.value));
    } else {
      fmt::format_to(std::back_inserter(line), "{}",
                     has_peer ? trace::size_bytes_of(event.value) : event.value);
    }
    fmt::format_to(std::back_inserter(line), ",{},{}\n",
                   names[event.name < names.size() ? event.name : 0],
                   has_peer ? std::to_string(trace::peer_of(event.value)) : "");
    file.put({line.data(), line.size()});
  };
  input.for_each([&](const Event& event) { for_each_part(event, put); });
  file.close();
}

void to_dot(Input& input, const std::string& path) {
  const Model model(input);
  TextFile file(path);
  file.put("digraph tasks {\n  node [shape=box];\n");
  for (const Task& task : model.tasks) {
    const auto key = model.keys.find(task.id);
    const auto colour = model.colours.find(model.name_of(task));
    const std::string filled = colour == model.colours.end()
                                   ? ""
                                   : fmt::format(" style=filled fillcolor=\"#{}\"", colour->second);
    const std::string iteration =
        task.iteration == kNever ? "" : fmt::format("\\niteration {}", task.iteration);
    const std::string_view place = model.place_of(task);
    const std::string tooltip =
        place.empty() ? "" : fmt::format(" tooltip=\"{}\"", plain(std::string(place)));
    file.put(fmt::format("  t{} [label=\"{}{}\\nrank {}, {}{}\"{}{}];\n", task.id,
                         plain(slice_name(Kind::task_started, model.name_of(task))),
                         key == model.keys.end() ? "" : " " + plain(key->second),
                         model.rank_of(task.track), time_text(static_cast<double>(task.busy)),
                         iteration, filled, tooltip));
  }
  for (std::uint32_t i = 0; i < model.tasks.size(); ++i) {
    for (const Cause& need : model.needs_of(i)) {
      const std::uint32_t source = model.source_of(need);
      if (source == kNone) continue;
      file.put(fmt::format("  t{} -> t{}{};\n", model.tasks[source].id, model.tasks[i].id,
                           need.what == Cause::What::message ? " [style=dashed]" : ""));
    }
  }
  for (std::uint32_t i = 0; i < model.segments.size(); ++i) {
    for (const Wait& wait : model.waits_of(i)) {
      file.put(fmt::format("  t{} -> t{} [style=dotted];\n",
                           model.tasks[model.source_of(wait.cause)].id,
                           model.tasks[model.segments[i].task].id));
    }
  }
  file.put("}\n");
  file.close();
}

}  // namespace shoal::trace_tool
