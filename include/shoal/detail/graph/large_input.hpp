#pragma once
// Large inputs of tasks: between processes they travel without copies.

#include <shoal/immutable.hpp>
#include <shoal/large_message.hpp>
#include <shoal/recipients.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace shoal::graph {

/// Vector in a value of type V, if its elements may travel as a payload.
template <class V>
struct VectorIn {
  static constexpr bool exists = false;
};
template <class T, class Allocator>
  requires(wire::is_raw_v<T> && std::is_default_constructible_v<T> && !std::is_same_v<T, bool>)
struct VectorIn<std::vector<T, Allocator>> {
  static constexpr bool exists = true;
  static constexpr bool is_shared = false;
  using Vector = std::vector<T, Allocator>;
  [[nodiscard]] static std::span<const T> elements(const Vector& value) { return value; }
};
template <class V>
  requires(VectorIn<V>::exists && !VectorIn<V>::is_shared)
struct VectorIn<Immutable<V>> {
  static constexpr bool exists = true;
  static constexpr bool is_shared = true;
  using Vector = V;
  [[nodiscard]] static std::span<const typename V::value_type> elements(const Immutable<V>& value) {
    if (!value) return {};
    return value.get();
  }
};

/// Returns whether `member` of the channel's team is a rank of this process.
[[nodiscard]] bool is_in_process(const messaging::Channel& channel, Rank member);

/// Tree along which an input travels to so many ranks.
[[nodiscard]] MulticastTree tree_of_inputs(std::size_t ranks);

/// Values of one input that travel as large messages. This one is for types of values that do not.
template <class K, class V, bool = VectorIn<V>::exists>
class LargeInput {
 public:
  using Put = Function<void(const std::vector<K>& keys, V value)>;
  LargeInput(messaging::Channel& /*channel*/, const std::string& /*name*/,
             const std::source_location& /*place*/, const Put& /*put*/) {}
  [[nodiscard]] static bool takes(const V& /*value*/, Rank /*to*/) { return false; }
  static void send(const std::vector<Rank>& /*to*/, const std::vector<K>& /*keys*/,
                   const std::shared_ptr<const V>& /*value*/) {}
  static void add_handlers(std::vector<std::uint32_t>& /*numbers*/) {}
};

template <class K, class V>
class LargeInput<K, V, true> {
  using In = VectorIn<V>;
  using Vector = typename In::Vector;
  using Element = typename Vector::value_type;

 public:
  using Put = Function<void(const std::vector<K>& keys, V value)>;

  /// `put` runs in handlers.
  LargeInput(messaging::Channel& channel, const std::string& name,
             const std::source_location& place, Put put)
      : LargeInput(channel, name, place, std::make_shared<Arrivals>(std::move(put))) {}

  /// The value is to travel to this rank as a large message.
  [[nodiscard]] bool takes(const V& value, Rank to) const {
    return In::elements(value).size_bytes() >= kLargeMessageBytes && !is_in_process(channel_, to);
  }
  void send(const std::vector<Rank>& to, const std::vector<K>& keys,
            const std::shared_ptr<const V>& value) const {
    const std::span<const Element> elements = In::elements(*value);
    if (to.size() == 1) {
      message_.send(to.front(), elements, keys, on_release([value] {}));
    } else {
      message_.multicast({to, tree_of_inputs(to.size())}, elements, keys, on_release([value] {}));
    }
  }

  /// Appends the number of its handler.
  void add_handlers(std::vector<std::uint32_t>& numbers) const {
    numbers.push_back(message_.number());
  }

 private:
  /// Vectors whose elements are under way; used by the handlers of the rank only. Transfers keep
  /// it, through the functions of the message.
  struct Arrivals {
    explicit Arrivals(Put function) : put(std::move(function)) {}

    std::span<Element> make(std::size_t count) {
      vectors.push_back(std::make_shared<Vector>(count));
      return *vectors.back();
    }
    std::shared_ptr<Vector>& find(const Element* data) {
      std::size_t i = 0;
      while (vectors[i]->data() != data) ++i;
      return vectors[i];
    }
    std::shared_ptr<Vector> take(const Element* data) {
      std::shared_ptr<Vector> last = std::move(vectors.back());
      vectors.pop_back();
      if (last->data() == data) return last;
      return std::exchange(find(data), std::move(last));
    }

    const Put put;
    std::vector<std::shared_ptr<Vector>> vectors;
  };

  LargeInput(messaging::Channel& channel, const std::string& name,
             const std::source_location& place, const std::shared_ptr<Arrivals>& arrivals)
      : channel_(channel),
        message_(
            channel, [arrivals](std::size_t count) { return arrivals->make(count); },
            arrival(arrivals), [] {}, messaging::model_options(name + ", large"), place) {}

  // An Immutable is read by tasks while it is passed on.
  static auto arrival(const std::shared_ptr<Arrivals>& arrivals) {
    if constexpr (In::is_shared) {
      return read_only(
          [arrivals](std::span<const Element> data, const std::vector<K>& keys) {
            arrivals->put(keys, V(arrivals->find(data.data())));
          },
          [arrivals](std::span<Element> data) { static_cast<void>(arrivals->take(data.data())); });
    } else {
      return [arrivals](std::span<Element> data, const std::vector<K>& keys) {
        arrivals->put(keys, std::move(*arrivals->take(data.data())));
      };
    }
  }

  messaging::Channel& channel_;
  LargeMessage<Element, std::vector<K>> message_;
};

}  // namespace shoal::graph
