// expect: shoal: the method belongs to a class derived from the object
// lines: <= 18
#include <shoal/object.hpp>

class Plain : public shoal::DistributedObject<Plain> {
 public:
  explicit Plain(shoal::Team& team) : DistributedObject(team) {}
};
class Derived : public Plain {
 public:
  using Plain::Plain;
  void twice() {}
};

void invoke(const Plain& plain) { plain.async<&Derived::twice>(shoal::Rank(1)); }
