// The model as JSON.

#include <shoal/contention/model.hpp>

#include <shoal/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <set>

namespace shoal::contention {

namespace {

using Json = nlohmann::ordered_json;

// One list of the keys serves both directions.
template <class Of, class Visit>
void visit_keys(Of& of, Visit&& visit)
  requires requires { of.cores_par; }
{
  visit("cores_par", of.cores_par);
  visit("total_par_mb_s", of.total_par_mb_s);
  visit("cores_seq", of.cores_seq);
  visit("total_seq_mb_s", of.total_seq_mb_s);
  visit("total_bend_mb_s", of.total_bend_mb_s);
  visit("loss_left_mb_s", of.loss_left_mb_s);
  visit("loss_right_mb_s", of.loss_right_mb_s);
  visit("core_mb_s", of.core_mb_s);
  visit("network_mb_s", of.network_mb_s);
  visit("network_share_min", of.network_share_min);
}

template <class Of, class Visit>
void visit_keys(Of& of, Visit&& visit)
  requires requires { of.machine; }
{
  visit("machine", of.machine);
  visit("cores", of.cores);
  visit("nodes", of.nodes);
  visit("nodes_per_socket", of.nodes_per_socket);
  visit("local", of.local);
  visit("remote", of.remote);
}

template <class Value>
void write(Json& json, const Value& value);

/// Writes each value under its key.
struct Writer {
  Json& json;
  template <class Value>
  void operator()(const char* key, const Value& value) {
    write(json[key], value);
  }
};

template <class Value>
void write(Json& json, const Value& value) {
  if constexpr (std::is_class_v<Value> && !std::is_same_v<Value, std::string>) {
    visit_keys(value, Writer{json});
  } else {
    json = value;
  }
}

template <class Value>
void read(const Json& json, const std::string& path, Value& value);

/// Reads each value from its key and notes the key as known.
struct Reader {
  const Json& json;
  const std::string& path;
  std::set<std::string>& known;

  template <class Value>
  void operator()(const char* key, Value& value) {
    known.insert(key);
    const auto found = json.find(key);
    if (found == json.end()) {
      throw ConfigError(fmt::format("contention model: the key '{}{}' is missing", path, key));
    }
    read(*found, path + key, value);
  }
};

template <class Value>
void read(const Json& json, const std::string& path, Value& value) {
  if constexpr (std::is_class_v<Value> && !std::is_same_v<Value, std::string>) {
    if (!json.is_object()) {
      throw ConfigError(fmt::format("contention model: '{}' must be an object", path));
    }
    const std::string prefix = path.empty() ? "" : path + ".";
    std::set<std::string> known;
    visit_keys(value, Reader{json, prefix, known});
    for (const auto& [key, unused] : json.items()) {
      if (known.contains(key)) continue;
      throw ConfigError(fmt::format("contention model: there is no key '{}{}'", prefix, key));
    }
  } else {
    constexpr bool is_text = std::is_same_v<Value, std::string>;
    constexpr bool is_count = std::is_integral_v<Value>;
    const bool fits =
        is_text ? json.is_string() : (is_count ? json.is_number_integer() : json.is_number());
    if (!fits) {
      throw ConfigError(fmt::format("contention model: '{}' must be {}", path,
                                    is_text    ? "a text"
                                    : is_count ? "a whole number"
                                               : "a number"));
    }
    json.get_to(value);
  }
}

}  // namespace

std::string to_json(const Model& model) {
  Json json;
  write(json, model);
  return json.dump(2) + "\n";
}

Model model_from_json(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw ConfigError("contention model: the text is not valid JSON");
  Model model;
  read(json, "", model);
  check(model);
  return model;
}

}  // namespace shoal::contention
