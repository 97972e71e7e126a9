// expect: shoal: type T cannot travel in a message
#include <shoal/am/archive.hpp>

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
