// expect: shoal: compare_exchange\(\) and fetch_update\(\) compare all bits of a word, padding
// lines: <= 12
#include <shoal/memory.hpp>

struct alignas(8) Mark {
  int number;
  char kind;
};

void change(shoal::GlobalMemory& memory, shoal::GlobalPtr<Mark> mark) {
  memory.compare_exchange(mark, Mark{1, 'a'}, Mark{2, 'a'});
}
