#pragma once
// Reader of symmetric matrices in Matrix Market format (math.nist.gov/MatrixMarket/formats.html).

#include <iosfwd>
#include <string>
#include <vector>

namespace apps {

/// One entry of the lower triangle: 0 <= column <= row < size.
struct Entry {
  int row;
  int column;
  double value;
};

/// A real symmetric matrix: the entries of its lower triangle, by row, then column, each once.
struct SymmetricMatrix {
  int size = 0;
  std::vector<Entry> lower;
};

/// Reads `coordinate` or `array`, `real` or `integer`, `symmetric` or `general` matrices; a general
/// one must be symmetric to the last bit. `name` is the name of the file in messages.
/// Errors: InputError "name:line: what is wrong" for everything that does not follow the format.
SymmetricMatrix read_matrix_market(std::istream& in, const std::string& name);

/// The same for the file at `path`. Errors: also InputError when it cannot be opened or read.
SymmetricMatrix read_matrix_market_file(const std::string& path);

}  // namespace apps
