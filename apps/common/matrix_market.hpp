#pragma once
// Reader of symmetric matrices, and of the patterns of any square ones, in Matrix Market format
// (math.nist.gov/MatrixMarket/formats.html).

#include <compare>
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

/// A real matrix of any shape: its entries, each once.
struct GeneralMatrix {
  int rows = 0;
  int columns = 0;
  std::vector<Entry> entries;  // 0 <= row < rows, 0 <= column < columns
};

/// Reads `real` or `integer` matrices of the file at `path`; of a `symmetric` one both triangles.
GeneralMatrix read_matrix_market_general_file(const std::string& path);

/// A square matrix of any kind: its entries by row, then column, each once.
struct SquareMatrix {
  int size = 0;
  bool has_values = true;  // false: a `pattern` file, every value is 1
  bool symmetric = false;  // equal to its transpose, also in its values
  std::vector<Entry> entries;
};

/// Reads a square `real`, `integer` or `pattern` matrix; of a `symmetric` one both triangles.
/// Errors: as read_matrix_market().
SquareMatrix read_matrix_market_square(std::istream& in, const std::string& name);
SquareMatrix read_matrix_market_square_file(const std::string& path);

/// Where an entry is: 0 <= column <= row < size.
struct Position {
  int row;
  int column;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// Where a matrix A or its transpose has entries: the lower triangle of A + A^T, by row, then
/// column, each position once.
struct SymmetricPattern {
  int size = 0;
  std::vector<Position> lower;
};

/// As read_matrix_market(), but takes `pattern` matrices too, and `general` ones that are not
/// symmetric. Each position that a `coordinate` file lists is an entry, also with the value 0.
SymmetricPattern read_matrix_market_pattern(std::istream& in, const std::string& name);
SymmetricPattern read_matrix_market_pattern_file(const std::string& path);

}  // namespace apps
