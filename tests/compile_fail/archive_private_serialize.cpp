// expect: TravelCheck<Secret>.*a type cannot travel|a type cannot travel.*TravelCheck<Secret>
#include <shoal/archive.hpp>

class Secret {
 public:
  ~Secret() {}  // forgets `friend class shoal::Access;`

 private:
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value_);
  }
  int value_ = 0;
};

std::size_t size(const Secret& value) { return shoal::encoded_size(value); }
