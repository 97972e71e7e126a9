
#include "common/input_error.hpp"
#include "common/matrix_market.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace apps_matrix_market_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Triples = std::vector<std::tuple<int, int, double>>;

const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string array_symmetric = "%%MatrixMarket matrix array real symmetric\n";
const std::string array_general = "%%MatrixMarket matrix array real general\n";

apps::SymmetricMatrix read(const std::string& text) {
  std::istringstream in(text);
  return apps::read_matrix_market(in, "a.mtx");
}

Triples triples(const apps::SymmetricMatrix& matrix) {
  Triples result;
  for (const auto& entry : matrix.lower) {
    result.emplace_back(entry.row, entry.column, entry.value);
  }
  return result;
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const apps::InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(AppsMatrixMarket, Read_WhenSymmetric_ReturnsTheLowerTriangleSorted) {
  const auto matrix = read(symmetric +
                           "% a comment\n%\n\n3 3 4\n3 1 -1.5e2\n1 1 4\n2 2 +5.25\n"
                           "3 3 6\n\n");
  EXPECT_EQ(matrix.size, 3);
  EXPECT_EQ(triples(matrix), (Triples{{0, 0, 4}, {1, 1, 5.25}, {2, 0, -150}, {2, 2, 6}}));
}

TEST(AppsMatrixMarket, Read_WhenLinesEndAsOnWindows_IsTheSame) {
  const auto matrix = read(
      "%%matrixmarket MATRIX Coordinate INTEGER Symmetric\r\n1 1 1\r\n"
      "1 1 7\r\n");
  EXPECT_EQ(triples(matrix), (Triples{{0, 0, 7}}));
}

TEST(AppsMatrixMarket, Read_WhenGeneralButSymmetric_ReturnsTheLowerTriangle) {
  const auto matrix = read(general + "2 2 4\n1 2 3\n1 1 9\n2 1 3\n2 2 8\n");
  EXPECT_EQ(triples(matrix), (Triples{{0, 0, 9}, {1, 0, 3}, {1, 1, 8}}));
}

TEST(AppsMatrixMarket, Read_WhenGeneralHasAnUnpairedZero_TakesItAsSymmetric) {
  EXPECT_EQ(triples(read(general + "2 2 2\n1 2 0\n1 1 9\n")), (Triples{{0, 0, 9}}));
}

TEST(AppsMatrixMarket, Read_WhenArraySymmetric_ReadsTheLowerTriangleByColumns) {
  const auto matrix = read(array_symmetric + "3 3\n1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(triples(matrix),
            (Triples{{0, 0, 1}, {1, 0, 2}, {1, 1, 4}, {2, 0, 3}, {2, 1, 5}, {2, 2, 6}}));
}

TEST(AppsMatrixMarket, Read_WhenArrayGeneral_ReadsAllColumns) {
  const auto matrix = read(array_general + "2 2\n1\n2\n2\n3\n");
  EXPECT_EQ(triples(matrix), (Triples{{0, 0, 1}, {1, 0, 2}, {1, 1, 3}}));
}

struct BadFile {
  std::string name;
  std::string text;
  std::string error;  // the message begins with this
};

class AppsMatrixMarketErrors : public ::testing::TestWithParam<BadFile> {};

TEST_P(AppsMatrixMarketErrors, Read_WhenMalformed_SaysWhereAndWhat) {
  EXPECT_THAT(error_of(GetParam().text), StartsWith("a.mtx:" + GetParam().error));
}

std::vector<BadFile> bad_files() {
  const std::string banner = "%%MatrixMarket matrix ";
  return {
      {"Empty", "", "1: the file is empty"},
      {"NoBanner", "3 3 1\n", "1: the first line must begin with %%MatrixMarket"},
      {"BlankFirst", "\n" + symmetric, "1: the first line must begin with %%MatrixMarket"},
      {"ShortBanner", "%%MatrixMarket matrix\n", "1: the first line must read"},
      {"LongBanner", banner + "array real general x\n", "1: the first line must read"},
      {"Vector", "%%MatrixMarket vector array real general\n", "1: object 'vector'"},
      {"Format", banner + "dense real general\n", "1: format 'dense'"},
      {"Pattern", banner + "coordinate pattern symmetric\n", "1: field 'pattern'"},
      {"Complex", banner + "coordinate complex general\n", "1: field 'complex'"},
      {"Hermitian", banner + "coordinate real hermitian\n", "1: symmetry 'hermitian'"},
      {"Skew", banner + "coordinate real skew-symmetric\n", "1: symmetry 'skew-symmetric'"},
      {"NoSize", symmetric + "% nothing\n", "2: the file ends before the line with the size"},
      {"ShortSize", symmetric + "3 3\n", "2: expected the size of the matrix as 'rows columns en"},
      {"LongSize", array_general + "3 3 9\n", "2: expected the size of the matrix as 'rows col"},
      {"TextSize", symmetric + "3 three 1\n", "2: number of columns is not an integer: 'three'"},
      {"RealSize", symmetric + "3.5 3 1\n", "2: number of rows is not an integer: '3.5'"},
      {"ZeroSize", symmetric + "0 0 0\n", "2: number of rows must be at least 1, not 0"},
      {"HugeSize", symmetric + "99999999999 99999999999 1\n", "2: a matrix of 99999999999 rows"},
      {"NotSquare", symmetric + "% c\n3 4 1\n", "3: the matrix is 3 x 4: it must be square"},
      {"NegativeCount", symmetric + "3 3 -1\n", "2: number of entries must be at least 0, not -1"},
      {"CountTooLarge", symmetric + "2 2 4\n", "2: 4 entries announced, but this matrix holds at"},
      {"RowTooLarge", symmetric + "2 2 1\n3 1 1\n", "3: row index 3 is out of range 1..2"},
      {"RowZero", symmetric + "2 2 1\n0 1 1\n", "3: row index 0 is out of range 1..2"},
      {"ColumnNegative", symmetric + "2 2 1\n1 -1 1\n", "3: column index -1 is out of range 1..2"},
      {"ColumnText", symmetric + "2 2 1\n1 x 1\n", "3: column index is not an integer: 'x'"},
      {"RowHuge", symmetric + "2 2 1\n99999999999999999999 1 1\n", "3: row index is not an int"},
      {"NoValue", symmetric + "2 2 1\n1 1\n", "3: expected 'row column value', found 2 fields"},
      {"TwoValues", symmetric + "2 2 1\n1 1 1 1\n", "3: expected 'row column value', found 4"},
      {"ValueText", symmetric + "2 2 1\n1 1 one\n", "3: value is not a number: 'one'"},
      {"ValueTail", symmetric + "2 2 1\n1 1 1.0x\n", "3: value is not a number: '1.0x'"},
      {"ValueNan", symmetric + "2 2 1\n1 1 nan\n", "3: value is not finite: 'nan'"},
      {"ValueHuge", symmetric + "2 2 1\n1 1 1e999\n", "3: value is not a number: '1e999'"},
      {"RealInInteger", banner + "coordinate integer symmetric\n1 1 1\n1 1 1.5\n",
       "3: value is not an integer: '1.5'"},
      {"Upper", symmetric + "2 2 1\n\n1 2 1\n", "4: entry (1, 2) lies above the diagonal"},
      {"Twice", symmetric + "2 2 2\n2 1 1\n2 1 1\n", "4: entry (2, 1) was given before, on line 3"},
      {"Truncated", symmetric + "2 2 3\n1 1 1\n2 1 1\n", "4: the file ends after 2 of 3 entries"},
      {"CutInALine", symmetric + "2 2 2\n1 1 1\n2 1", "4: expected 'row column value', found 2"},
      {"Trailing", symmetric + "2 2 1\n1 1 1\n\n2 1 1\n", "5: data after the last of the 1 ent"},
      {"ArrayTrailing", array_general + "1 1\n1\n2\n", "4: data after the last of the 1 entries"},
      {"ArrayTruncated", array_symmetric + "2 2\n1\n2\n", "4: the file ends after 2 of 3 entries"},
      {"ArrayFields", array_general + "2 2\n1 2\n", "3: expected one value, found 2 fields"},
      {"NotSymmetric", general + "2 2 3\n1 1 1\n2 1 3\n1 2 4\n",
       "4: entry (2, 1) is 3 but (1, 2) is 4: the matrix is not symmetric"},
      {"MissingPair", general + "2 2 2\n1 1 1\n1 2 4\n", "4: entry (1, 2) is 4 but (2, 1) is 0"},
      {"Binary", std::string("\0\1\2\377", 4), "1: the first line must begin"},
  };
}

INSTANTIATE_TEST_SUITE_P(All, AppsMatrixMarketErrors, ::testing::ValuesIn(bad_files()),
                         [](const auto& file) { return file.param.name; });

TEST(AppsMatrixMarket, Read_WhenAFieldIsLongAndBinary_QuotesItShortAndPrintable) {
  const std::string error = error_of(symmetric + "1 1 1\n1 1 \x1b" + std::string(500, 'z') + "\n");
  EXPECT_THAT(error, HasSubstr("'?zzz"));
  EXPECT_THAT(error, HasSubstr("...'"));
  EXPECT_LT(error.size(), 100U);
}

TEST(AppsMatrixMarket, ReadFile_WhenItDoesNotExist_NamesIt) {
  try {
    apps::read_matrix_market_file("/nonexistent/b.mtx");
    FAIL() << "no error";
  } catch (const apps::InputError& error) {
    EXPECT_STREQ(error.what(), "/nonexistent/b.mtx: cannot open this file");
  }
}

TEST(AppsMatrixMarket, ReadFile_WhenItIsADirectory_NamesIt) {
  EXPECT_THROW(apps::read_matrix_market_file("/"), apps::InputError);
}

std::vector<std::pair<int, int>> pattern(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::pair<int, int>> positions;
  for (const auto& p : apps::read_matrix_market_pattern(in, "a.mtx").lower) {
    positions.emplace_back(p.row, p.column);
  }
  return positions;
}

using Positions = std::vector<std::pair<int, int>>;

TEST(AppsMatrixMarket, ReadPattern_WhenPattern_NeedsNoValues) {
  EXPECT_EQ(pattern("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n3 1\n1 1\n2 1\n"),
            (Positions{{0, 0}, {1, 0}, {2, 0}}));
}

TEST(AppsMatrixMarket, ReadPattern_WhenGeneral_HasEachPairOnce) {
  EXPECT_EQ(pattern(general + "3 3 4\n1 2 3\n2 1 4\n1 3 0\n3 3 1\n"),
            (Positions{{1, 0}, {2, 0}, {2, 2}}));
}

TEST(AppsMatrixMarket, ReadPattern_WhenArray_LeavesOutZeros) {
  EXPECT_EQ(pattern(array_general + "2 2\n0\n2\n0\n3\n"), (Positions{{1, 0}, {1, 1}}));
}

TEST(AppsMatrixMarket, ReadPattern_WhenMalformed_SaysWhere) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      pattern(text);
    } catch (const apps::InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_THAT(message(banner + "2 2 1\n1 2 3\n"),
              StartsWith("a.mtx:3: expected 'row column', found 3 fields"));
  EXPECT_THAT(message(banner + "2 3 1\n1 2\n"), HasSubstr("2 x 3: it must be square"));
  EXPECT_THAT(message(banner + "2 2 2\n1 2\n1 2\n"), HasSubstr("was given before, on line 3"));
  EXPECT_THAT(message("%%MatrixMarket matrix array pattern general\n2 2\n"),
              HasSubstr("an 'array' cannot have the field 'pattern'"));
  EXPECT_THAT(message("%%MatrixMarket matrix coordinate complex general\n2 2 0\n"),
              HasSubstr("only 'real', 'integer' and 'pattern' are"));
}

// --- square matrices of any kind

apps::SquareMatrix read_square(const std::string& text) {
  std::istringstream in(text);
  return apps::read_matrix_market_square(in, "a.mtx");
}

Triples triples(const apps::SquareMatrix& matrix) {
  Triples result;
  for (const auto& entry : matrix.entries) {
    result.emplace_back(entry.row, entry.column, entry.value);
  }
  return result;
}

TEST(MatrixMarketSquare, HasBothTrianglesByRows) {
  const Triples both{{0, 0, 2}, {0, 1, -1}, {1, 0, -1}};
  const apps::SquareMatrix lower = read_square(symmetric + "2 2 2\n2 1 -1\n1 1 2\n");
  EXPECT_EQ(triples(lower), both);
  EXPECT_TRUE(lower.symmetric && lower.has_values);
  const apps::SquareMatrix all = read_square(general + "2 2 3\n2 1 -1\n1 1 2\n1 2 -1\n");
  EXPECT_EQ(triples(all), both);
  EXPECT_TRUE(all.symmetric);
  const apps::SquareMatrix other = read_square(general + "2 2 3\n2 1 -1\n1 1 2\n1 2 1\n");
  EXPECT_EQ(triples(other), (Triples{{0, 0, 2}, {0, 1, 1}, {1, 0, -1}}));
  EXPECT_FALSE(other.symmetric);
}

TEST(MatrixMarketSquare, OfAPattern_HasNoValues) {
  const std::string banner = "%%MatrixMarket matrix coordinate pattern ";
  const apps::SquareMatrix both = read_square(banner + "symmetric\n2 2 1\n2 1\n");
  EXPECT_EQ(triples(both), (Triples{{0, 1, 1}, {1, 0, 1}}));
  EXPECT_TRUE(both.symmetric && !both.has_values);
  EXPECT_FALSE(read_square(banner + "general\n2 2 1\n2 1\n").symmetric);
}

}  // namespace apps_matrix_market_test
