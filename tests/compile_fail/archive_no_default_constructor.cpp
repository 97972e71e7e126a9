// expect: shoal: type T cannot be received: give it a default constructor
#include <shoal/archive.hpp>

struct Named {
  explicit Named(std::string n) : name(std::move(n)) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(name);
  }
  std::string name;
};

auto receive(std::span<const std::byte> bytes) { return shoal::decode<Named>(bytes); }
