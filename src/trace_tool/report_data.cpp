#include <fmt/format.h>

#include "trace_tool/report.hpp"
#include "trace_tool/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::trace_tool {

[[nodiscard]] inline std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word =
          (word << 8U) | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      const bool is_there = i + k <= bytes.size();
      text += is_there ? kDigits[(word >> (18 - 6 * k)) & 0x3fU] : '=';
    }
  }
  return text;
}

/// Numbers in base64, as the page's script reads them.
template <class Value>
[[nodiscard]] std::string column(const std::vector<Value>& values) {
  return base64(std::as_bytes(std::span(values)));
}

using Json = nlohmann::ordered_json;

namespace {

// Limits that a browser draws quickly and holds easily.
constexpr std::size_t kSegmentsMax = 2'000'000;
constexpr std::size_t kMessagesMax = 1'000'000;
constexpr std::size_t kStepsMax = 500'000;
constexpr std::size_t kKeyBytesMax = std::size_t{32} << 20U;
constexpr int kMatrixMax = 64;
constexpr std::size_t kBins = 1200;
constexpr std::size_t kCountersMax = 24;
constexpr std::size_t kSamplesMax = 4000;  // of a counter
constexpr std::size_t kMarksMax = 10'000;

/// Mean number of stretches of time that cover each of equal parts of a run.
class Bins {
 public:
  explicit Bins(std::int64_t duration) : width_(std::max(number(duration), 1.0) / kBins) {}

  void add(std::int64_t begin, std::int64_t end) {
    const double from = number(begin) / width_;
    const double to = std::min(number(end) / width_, static_cast<double>(kBins));
    if (from >= to) return;
    const auto first = static_cast<std::size_t>(from);
    const auto last = static_cast<std::size_t>(to);
    if (first == last) {
      parts_[first] += to - from;
      return;
    }
    parts_[first] += static_cast<double>(first + 1) - from;
    parts_[last] += to - static_cast<double>(last);
    changes_[first + 1] += 1;
    changes_[last] -= 1;
  }
  [[nodiscard]] std::vector<double> averages(int divisor) const {
    std::vector<double> all(kBins);
    double whole = 0;
    for (std::size_t i = 0; i < kBins; ++i) {
      whole += changes_[i];
      all[i] = static_cast<double>(std::llround((parts_[i] + whole) / divisor * 1e4)) / 1e4;
    }
    return all;
  }

 private:
  const double width_;
  std::array<double, kBins + 1> parts_{};    // of stretches that begin or end there
  std::array<double, kBins + 1> changes_{};  // in number, of those that cover all of it
};

/// Rows that the page draws, by position in the model.
class PageData {
 public:
  PageData(const Model& model, const Analysis& analysis) : model_(model), analysis_(analysis) {}

  Json all() {
    const std::string partial = partial_text(model_.gaps());
    const auto count = [this](Category category, std::size_t recorded) {
      return model_.has(category) ? Json(recorded) : Json();  // null: not recorded
    };
    Json page = {{"title", partial + (partial.empty() ? "" : ". ") + title_of(model_.input())},
                 {"duration", model_.duration},
                 {"task_count", count(Category::task, model_.tasks.size())},
                 {"message_count", count(Category::message, model_.messages.size())},
                 {"path_text", path_text(analysis_)},
                 {"idle", idle_lines(analysis_)},
                 {"names", model_.input().names()}};
    for (const std::string& text : {iterations_text(analysis_), attempts_text(model_)}) {
      if (!text.empty()) page["idle"].push_back(text);
    }
    for (const std::string& note : analysis_.notes) page["idle"].push_back(note);
    const std::string not_modelled = not_modelled_text(model_.input());
    if (!not_modelled.empty()) page["idle"].push_back(not_modelled);
    page["tracks"] = Json::array();
    for (const TrackRow& track : model_.input().tracks()) {
      page["tracks"].push_back(
          {{"rank", track.rank}, {"name", track.name}, {"node", track.memory_node}});
    }
    page["hints"] = Json::array();
    for (const Hint& hint : analysis_.hints) {
      page["hints"].push_back({{"kind", hint.kind},
                               {"text", hint.text},
                               {"track", hint.track == kNone ? -1 : static_cast<int>(hint.track)},
                               {"begin", hint.begin},
                               {"end", hint.end}});
    }
    page["verdict"] = verdict_on(model_, analysis_).sentences;
    page["bounds"] = {{"work", analysis_.bounds.area}, {"chain", analysis_.bounds.chain}};
    page["colours"] = model_.colours;
    page["places"] = model_.places;
    add_data(page);
    add_segments(page);
    add_others(page);
    add_messages(page);
    add_path(page);
    add_series(page);
    add_statistics(page);
    add_ranks(page);
    add_matrix(page);
    add_latencies(page);
    add_iterations(page);
    add_counters(page);
    add_marks(page);
    page["note"] = note_;
    return page;
  }

 private:
  /// The `count` of [0, size) with the largest lengths; all if there are no more.
  template <class LengthOf>
  std::vector<std::uint32_t> longest(std::size_t size, std::size_t count, LengthOf length_of,
                                     const char* what) {
    std::vector<std::uint32_t> chosen(size);
    std::iota(chosen.begin(), chosen.end(), 0U);
    if (size <= count) return chosen;
    std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count),
                     chosen.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return length_of(a) > length_of(b); });
    chosen.resize(count);
    note_ += fmt::format("Only the longest {} of {} {} are drawn. ", count, size, what);
    return chosen;
  }

  /// Number of the first row of each track, and of the end. Rows are sorted by track.
  template <class TrackOf>
  std::vector<std::uint32_t> offsets(const std::vector<std::uint32_t>& rows, TrackOf track_of) {
    std::vector<std::uint32_t> offsets(model_.input().tracks().size() + 1, 0);
    for (const std::uint32_t row : rows) ++offsets[track_of(row) + std::size_t{1}];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    return offsets;
  }

  void add_segments(Json& page) {
    const auto& all = model_.segments;
    auto rows = longest(
        all.size(), kSegmentsMax, [&](std::uint32_t i) { return all[i].end - all[i].begin; },
        "stretches of tasks");
    std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(all[a].track, all[a].begin, a) < std::tie(all[b].track, all[b].begin, b);
    });
    std::vector<double> begin;
    std::vector<float> length;
    std::vector<float> wait;
    std::vector<std::uint32_t> name;
    for (const std::uint32_t row : rows) {
      const Segment& segment = all[row];
      const Task& task = model_.tasks[segment.task];
      const bool is_first = segment.previous_of_task == kNone && task.ready != kNever;
      begin.push_back(number(segment.begin));
      length.push_back(static_cast<float>(segment.end - segment.begin));
      wait.push_back(is_first ? static_cast<float>(segment.begin - task.ready) : -1.0F);
      name.push_back(task.name);
    }
    page["segments"] = {
        {"offset", column(offsets(rows, [&](std::uint32_t i) { return all[i].track; }))},
        {"begin", column(begin)},
        {"length", column(length)},
        {"name", column(name)},
        {"wait", column(wait)}};
    add_keys(page, rows);
    add_iterations_of(page, rows);
    add_insertions(page, rows);
    add_needs(page, rows);
  }

  /// Number of the place at which the task of each row was inserted, kNone where it is not known;
  /// null where it is known of no task.
  void add_insertions(Json& page, const std::vector<std::uint32_t>& rows) {
    page["insertions"] = nullptr;
    if (model_.insertions.empty()) return;
    std::vector<std::uint32_t> all;
    all.reserve(rows.size());
    for (const std::uint32_t row : rows) {
      all.push_back(model_.tasks[model_.segments[row].task].inserted);
    }
    page["insertions"] = {{"places", model_.insertions}, {"place", column(all)}};
  }

  /// Of the task of each row; null where no task has one. -1: of that none.
  void add_iterations_of(Json& page, const std::vector<std::uint32_t>& rows) {
    page["iteration"] = nullptr;
    if (analysis_.iterations.empty()) return;
    std::vector<double> all;
    all.reserve(rows.size());
    for (const std::uint32_t row : rows) {
      all.push_back(number(model_.tasks[model_.segments[row].task].iteration));
    }
    page["iteration"] = column(all);
  }

  /// For each row, the rows of the tasks that it waited for.
  void add_needs(Json& page, const std::vector<std::uint32_t>& rows) {
    constexpr std::size_t kNeedsMax = 2'000'000;
    std::vector<std::uint32_t> row_of(model_.tasks.size(), kNone);  // the last one of each task
    for (std::uint32_t i = 0; i < rows.size(); ++i) row_of[model_.segments[rows[i]].task] = i;
    std::vector<std::uint32_t> offset{0};
    std::vector<std::uint32_t> needs;
    for (const std::uint32_t row : rows) {
      const Segment& segment = model_.segments[row];
      const auto add = [&](const Cause& need) {
        const std::uint32_t source = model_.source_of(need);
        if (source == kNone || row_of[source] == kNone || model_.is_main(model_.tasks[source])) {
          return;
        }
        needs.push_back(row_of[source]);
      };
      if (segment.previous_of_task == kNone) {
        for (const Cause& need : model_.needs_of(segment.task)) add(need);
      }
      for (const Wait& wait : model_.waits_of(row)) add(wait.cause);
      offset.push_back(static_cast<std::uint32_t>(needs.size()));
    }
    page["needs"] = nullptr;
    if (needs.size() <= kNeedsMax) {
      page["needs"] = {{"offset", column(offset)}, {"row", column(needs)}};
    } else {
      note_ += "Dependencies are left out: there are too many. ";
    }
  }

  /// By the names that keys of tasks have: size in bytes, and rank of the owner.
  void add_data(Json& page) {
    page["data"] = Json::object();
    std::size_t bytes = 0;
    for (const auto& [name, datum] : model_.data) bytes += name.size();
    if (bytes > kKeyBytesMax) {
      note_ += "Sizes of data are left out: there are too many. ";
      return;
    }
    for (const auto& [name, datum] : model_.data) page["data"][name] = {datum.bytes, datum.owner};
  }

  void add_keys(Json& page, const std::vector<std::uint32_t>& rows) {
    page["keys"] = nullptr;
    if (model_.keys.empty()) return;
    std::size_t bytes = 0;
    std::vector<std::string> keys;
    for (const std::uint32_t row : rows) {
      const auto key = model_.keys.find(model_.tasks[model_.segments[row].task].id);
      keys.push_back(key == model_.keys.end() ? "" : key->second);
      bytes += keys.back().size();
    }
    if (bytes <= kKeyBytesMax) {
      page["keys"] = std::move(keys);
    } else {
      note_ += "Keys of tasks are left out: there are too many. ";
    }
  }

  void add_others(Json& page) {
    const auto& all = model_.intervals;
    auto rows = longest(
        all.size(), kSegmentsMax, [&](std::uint32_t i) { return all[i].end - all[i].begin; },
        "other stretches");
    std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      // The longer one first, so that contained stretches are drawn over it.
      return std::tuple(all[a].track, all[a].begin, -all[a].end, a) <
             std::tuple(all[b].track, all[b].begin, -all[b].end, b);
    });
    std::vector<double> begin;
    std::vector<float> length;
    std::vector<std::uint32_t> name;
    std::vector<std::uint8_t> what;
    for (const std::uint32_t row : rows) {
      begin.push_back(number(all[row].begin));
      length.push_back(static_cast<float>(all[row].end - all[row].begin));
      name.push_back(all[row].name);
      what.push_back(static_cast<std::uint8_t>(all[row].what));
    }
    page["others"] = {
        {"offset", column(offsets(rows, [&](std::uint32_t i) { return all[i].track; }))},
        {"begin", column(begin)},
        {"length", column(length)},
        {"name", column(name)},
        {"what", column(what)}};
  }

  static std::int64_t arrival_of(const Message& message) {
    return message.received != kNever ? message.received : message.handled;
  }

  void add_messages(Json& page) {
    const auto& all = model_.messages;
    const auto length_of = [&](std::uint32_t i) {
      const bool is_whole = all[i].sent != kNever && arrival_of(all[i]) != kNever &&
                            all[i].from_track != kNone && all[i].to_track != kNone;
      return is_whole ? arrival_of(all[i]) - all[i].sent : std::numeric_limits<std::int64_t>::min();
    };
    auto rows = longest(all.size(), kMessagesMax, length_of, "messages");
    std::erase_if(rows, [&](std::uint32_t i) {
      return length_of(i) == std::numeric_limits<std::int64_t>::min();
    });
    std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(all[a].sent, a) < std::tie(all[b].sent, b);
    });
    std::vector<double> sent;
    std::vector<double> arrived;
    std::vector<double> bytes;
    std::vector<std::uint32_t> from;
    std::vector<std::uint32_t> to;
    std::vector<std::uint32_t> name;
    std::int64_t longest_ns = 0;
    for (const std::uint32_t row : rows) {
      row_of_message_[row] = static_cast<std::uint32_t>(sent.size());
      sent.push_back(number(all[row].sent));
      arrived.push_back(number(arrival_of(all[row])));
      bytes.push_back(static_cast<double>(all[row].size_bytes));
      from.push_back(all[row].from_track);
      to.push_back(all[row].to_track);
      name.push_back(all[row].name);
      longest_ns = std::max(longest_ns, length_of(row));
    }
    page["longest_message"] = longest_ns;
    page["messages"] = {{"sent", column(sent)}, {"arrived", column(arrived)},
                        {"from", column(from)}, {"to", column(to)},
                        {"name", column(name)}, {"bytes", column(bytes)}};
  }

  void add_path(Json& page) {
    std::vector<double> begin;
    std::vector<double> end;
    std::vector<std::uint8_t> what;
    std::vector<std::uint32_t> index;
    std::vector<std::uint32_t> name;
    std::vector<std::int32_t> track;
    for (const PathStep& step : analysis_.path) {
      if (begin.size() == kStepsMax) {
        note_ += fmt::format("Only the first {} steps of the critical path are drawn. ", kStepsMax);
        break;
      }
      const bool is_message = step.what == PathStep::What::message;
      const auto row = is_message ? row_of_message_.find(step.index) : row_of_message_.end();
      begin.push_back(number(step.begin));
      end.push_back(number(step.end));
      what.push_back(static_cast<std::uint8_t>(step.what));
      index.push_back(row == row_of_message_.end() ? kNone : row->second);
      name.push_back(step.name);
      const bool has_track = !is_message && step.index != kNone;
      track.push_back(has_track ? static_cast<std::int32_t>(model_.segments[step.index].track)
                                : -1);
    }
    page["path"] = {{"begin", column(begin)}, {"end", column(end)},   {"what", column(what)},
                    {"index", column(index)}, {"name", column(name)}, {"track", column(track)}};
    constexpr std::array<const char*, 6> kWhat = {
        "task", "message", "start of", "parked", "before the first task", "progress blocked by"};
    constexpr std::size_t kRowsMax = 15;
    page["path_shares"] = Json::array();
    for (const PathShare& one : analysis_.path_shares) {
      if (page["path_shares"].size() == kRowsMax) break;
      const bool is_before = one.what == PathStep::What::begin && !one.name.empty();
      const char* const what = is_before ? "before" : kWhat.at(static_cast<std::size_t>(one.what));
      page["path_shares"].push_back({{"what", what},
                                     {"name", one.name},
                                     {"rank", one.rank},
                                     {"ns", one.ns},
                                     {"steps", one.steps}});
    }
  }

  void add_series(Json& page) {
    int workers = 0;
    for (const RankUsage& rank : analysis_.ranks) workers += rank.workers;
    Bins busy(model_.duration);
    for (std::uint32_t track = 0; track < model_.busy.size(); ++track) {
      if (!is_worker(model_, track)) continue;
      for (const Stretch& one : model_.busy[track]) busy.add(one.begin, one.end);
    }
    Bins ready(model_.duration);
    Bins made(model_.duration);
    for (const Task& task : model_.tasks) {
      const auto until = [this](std::int64_t time) {
        return time == kNever ? model_.duration : time;
      };
      if (task.ready != kNever) ready.add(task.ready, until(task.start));
      if (task.created != kNever && !model_.is_main(task)) made.add(task.created, until(task.end));
    }
    page["utilization"] = busy.averages(std::max(workers, 1));
    page["ready"] = ready.averages(1);
    page["made"] = made.averages(1);
  }

  void add_statistics(Json& page) {
    std::unordered_map<std::string, std::size_t> ids;
    for (std::size_t i = 0; i < model_.input().names().size(); ++i) {
      ids.try_emplace(model_.input().names()[i], i);
    }
    page["statistics"] = Json::array();
    for (const NameStatistics& one : analysis_.names) {
      const auto id = ids.find(one.name);
      page["statistics"].push_back({{"name", one.name},
                                    {"id", id == ids.end() ? 0 : id->second},
                                    {"count", one.count},
                                    {"total", one.total},
                                    {"least", one.least},
                                    {"median", one.median},
                                    {"most", one.most},
                                    {"wait", one.ready_wait},
                                    {"histogram", one.histogram}});
    }
  }

  void add_ranks(Json& page) {
    page["ranks"] = Json::array();
    if (!model_.knows_idleness()) return;
    for (const RankUsage& one : analysis_.ranks) {
      page["ranks"].push_back({{"rank", one.rank},
                               {"workers", one.workers},
                               {"tasks", one.sum.task_count},
                               {"busy", one.sum.tasks},
                               {"handlers", one.sum.handlers},
                               {"asleep", one.sum.asleep},
                               {"other", one.sum.other},
                               {"window", one.window_full}});
    }
  }

  void add_matrix(Json& page) {
    int ranks = 0;
    for (const auto& [pair, sum] : analysis_.pairs) {
      ranks = std::max({ranks, pair.first + 1, pair.second + 1});
    }
    const int per = std::max(1, (ranks + kMatrixMax - 1) / kMatrixMax);
    const auto size = static_cast<std::size_t>((ranks + per - 1) / per);
    std::vector<std::uint64_t> bytes(size * size, 0);
    std::vector<std::uint64_t> count(size * size, 0);
    for (const auto& [pair, sum] : analysis_.pairs) {
      const std::size_t cell = static_cast<std::size_t>(pair.first / per) * size +
                               static_cast<std::size_t>(pair.second / per);
      bytes[cell] += sum.bytes;
      count[cell] += sum.count;
    }
    page["matrix"] = {{"size", size}, {"ranks_of_cell", per}, {"bytes", bytes}, {"count", count}};
  }

  void add_latencies(Json& page) {
    page["latencies"] = Json::array();
    for (const LatencyStatistics& one : analysis_.latencies) {
      page["latencies"].push_back({{"name", one.name},
                                   {"count", one.count},
                                   {"bytes", one.bytes},
                                   {"parts", {one.window, one.wire, one.progress, one.worker}}});
    }
  }

  void add_iterations(Json& page) {
    page["iterations"] = Json::array();
    for (const IterationStatistics& one : analysis_.iterations) {
      page["iterations"].push_back({one.number, one.count, one.made, one.begin, one.end});
    }
  }

  void add_counters(Json& page) {
    std::map<std::pair<std::string, int>, std::vector<const Sample*>> counters;  // by name and rank
    for (const Sample& sample : model_.samples) {
      counters[{model_.input().name(sample.name), model_.rank_of(sample.track)}].push_back(&sample);
    }
    page["counters"] = Json::array();
    for (const auto& [key, samples] : counters) {
      if (page["counters"].size() == kCountersMax) {
        note_ += fmt::format("Only {} of {} counters are drawn. ", kCountersMax, counters.size());
        break;
      }
      const std::size_t step = (samples.size() + kSamplesMax - 1) / kSamplesMax;
      std::vector<double> time;
      std::vector<double> value;
      for (std::size_t i = 0; i < samples.size(); i += step) {
        time.push_back(number(samples[i]->time));
        value.push_back(samples[i]->value);
      }
      page["counters"].push_back({{"name", key.first},
                                  {"rank", key.second},
                                  {"time", column(time)},
                                  {"value", column(value)}});
    }
  }

  void add_marks(Json& page) {
    std::vector<double> time;
    std::vector<std::uint32_t> track;
    std::vector<std::uint32_t> name;
    for (const Mark& mark : model_.marks) {
      if (time.size() == kMarksMax) {
        note_ += fmt::format("Only {} of {} marks are drawn. ", kMarksMax, model_.marks.size());
        break;
      }
      time.push_back(number(mark.time));
      track.push_back(mark.track);
      name.push_back(mark.name);
    }
    page["marks"] = {{"time", column(time)}, {"track", column(track)}, {"name", column(name)}};
  }

  const Model& model_;
  const Analysis& analysis_;
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_message_;
  std::string note_;
};

}  // namespace

Json page_data(const Model& model, const Analysis& analysis) {
  return PageData(model, analysis).all();
}

}  // namespace shoal::trace_tool
