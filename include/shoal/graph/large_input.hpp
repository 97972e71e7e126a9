#pragma once
// Large inputs of tasks: between processes they travel without copies.

#include <shoal/am/immutable.hpp>
#include <shoal/am/large_message.hpp>
#include <shoal/am/multicast_tree.hpp>

#include <cstddef>
#include <memory>
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
template <class T>
  requires(wire::is_raw_v<T> && std::is_default_constructible_v<T> && !std::is_same_v<T, bool>)
struct VectorIn<std::vector<T>> {
  static constexpr bool exists = true;
  static constexpr bool is_shared = false;
  using Vector = std::vector<T>;
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

/// `member` of the channel's team is a rank of this process.
[[nodiscard]] bool is_in_process(const messaging::Channel& channel, Rank member);

/// Values of one input that travel as large messages. This one is for types of values that do not.
template <class K, class V, bool = VectorIn<V>::exists>
class LargeInput {
 public:
  using Put = Function<void(const std::vector<K>& keys, V value)>;
  LargeInput(messaging::Channel& /*channel*/, const std::string& /*name*/, const Put& /*put*/) {}
  [[nodiscard]] static bool takes(const V& /*value*/, Rank /*to*/) { return false; }
  static void send(const std::vector<Rank>& /*to*/, const std::vector<K>& /*keys*/,
                   const std::shared_ptr<const V>& /*value*/) {}
};

template <class K, class V>
class LargeInput<K, V, true> {
  using In = VectorIn<V>;
  using Vector = typename In::Vector;
  using Element = typename Vector::value_type;

 public:
  using Put = Function<void(const std::vector<K>& keys, V value)>;

  /// `put` runs in handlers.
  LargeInput(messaging::Channel& channel, const std::string& name, Put put)
      : channel_(channel),
        put_(std::move(put)),
        message_(
            channel, [this](std::size_t count) { return make_place(count); }, arrival(), [] {},
            AmOptions{.name = name + ", large"}) {}

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
      message_.multicast(to, elements, keys, on_release([value] {}));
    }
  }

 private:
  std::span<Element> make_place(std::size_t count) {
    arriving_.push_back(std::make_shared<Vector>(count));
    return *arriving_.back();
  }
  std::shared_ptr<Vector>& find(const Element* data) {
    std::size_t i = 0;
    while (arriving_[i]->data() != data) ++i;
    return arriving_[i];
  }
  std::shared_ptr<Vector> take(const Element* data) {
    std::shared_ptr<Vector>& found = find(data);
    std::shared_ptr<Vector> taken = std::move(found);
    if (&found != &arriving_.back()) found = std::move(arriving_.back());
    arriving_.pop_back();
    return taken;
  }
  // An Immutable is read by tasks while it is passed on.
  auto arrival() {
    if constexpr (In::is_shared) {
      return read_only([this](std::span<const Element> data,
                              const std::vector<K>& keys) { put_(keys, V(find(data.data()))); },
                       [this](std::span<Element> data) { static_cast<void>(take(data.data())); });
    } else {
      return [this](std::span<Element> data, const std::vector<K>& keys) {
        put_(keys, std::move(*take(data.data())));
      };
    }
  }

  messaging::Channel& channel_;
  const Put put_;
  std::vector<std::shared_ptr<Vector>> arriving_;  // used by the handlers of the rank only
  LargeMessage<Element, std::vector<K>> message_;
};

}  // namespace shoal::graph
