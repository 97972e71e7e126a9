// Prints a number as the locale of the program says.

#include <iomanip>
#include <iostream>
#include <locale>

int main() {
  std::cout.imbue(std::locale());
  std::cout << std::fixed << std::setprecision(1) << 1234.5 << '\n';
}
