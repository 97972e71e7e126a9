#include "common/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <istream>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "common/input_error.hpp"

namespace apps {
namespace {

using Tokens = std::vector<std::string_view>;

constexpr std::string_view kBlanks = " \t\r\v\f";
constexpr std::size_t kQuotedChars = 40;

Tokens split(std::string_view line) {
  Tokens tokens;
  for (auto begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;
       begin = line.find_first_not_of(kBlanks)) {
    line.remove_prefix(begin);
    tokens.push_back(line.substr(0, line.find_first_of(kBlanks)));
    line.remove_prefix(tokens.back().size());
  }
  return tokens;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// `text` as it may be shown on a terminal: short, and without control characters.
std::string in_quotes(std::string_view text) {
  std::string shown(text.substr(0, kQuotedChars));
  for (char& c : shown) {
    if (std::isprint(static_cast<unsigned char>(c)) == 0) c = '?';
  }
  return "'" + shown + (text.size() > kQuotedChars ? "...'" : "'");
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The lines of a file with their numbers, and errors that name both.
class Lines {
 public:
  Lines(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  /// The tokens of the next line, possibly none; nothing at the end of the file. Valid until then.
  std::optional<Tokens> next() {
    if (!std::getline(in_, line_)) {
      if (in_.bad()) throw InputError(fmt::format("{}: error while reading", name_));
      return std::nullopt;
    }
    ++number_;
    return split(line_);
  }

  /// The same, without the blank lines.
  std::optional<Tokens> next_filled() {
    auto tokens = next();
    while (tokens && tokens->empty()) tokens = next();
    return tokens;
  }

  [[nodiscard]] std::int64_t number() const { return number_; }

  [[noreturn]] void fail(std::string_view what) const { fail_at(number_, what); }
  [[noreturn]] void fail_at(std::int64_t line, std::string_view what) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line, what));
  }

 private:
  std::istream& in_;
  const std::string& name_;
  std::string line_;
  std::int64_t number_ = 0;
};

struct Header {
  bool coordinate = false;
  bool integer = false;
  bool pattern = false;  // entries have no values
  bool symmetric = false;
};

/// Use of the matrix: the values of a symmetric one, only their positions, the values of any, or
/// all that a square one has.
enum class Use { values, pattern, general, square };

void check_field(const Lines& lines, const Header& header, const std::string& field, Use use) {
  const bool takes_patterns = use == Use::pattern || use == Use::square;
  if (header.pattern && !takes_patterns) {
    lines.fail(
        "field 'pattern' is not supported, only 'real' and 'integer' are: a factorization needs "
        "real values");
  }
  if (header.pattern && !header.coordinate) {
    lines.fail("an 'array' cannot have the field 'pattern': it consists of values");
  }
  if (field != "real" && !header.integer && !header.pattern) {
    lines.fail(fmt::format("field {} is not supported, only 'real'{} are", in_quotes(field),
                           takes_patterns ? ", 'integer' and 'pattern'" : " and 'integer'"));
  }
}

Header read_banner(Lines& lines, Use use) {
  const auto tokens = lines.next();
  if (!tokens) lines.fail_at(1, "the file is empty");
  if (tokens->empty() || lower_case(tokens->front()) != "%%matrixmarket") {
    lines.fail("the first line must begin with %%MatrixMarket");
  }
  if (tokens->size() != 5) {
    lines.fail("the first line must read '%%MatrixMarket matrix <format> <field> <symmetry>'");
  }
  const std::string object = lower_case((*tokens)[1]);
  const std::string format = lower_case((*tokens)[2]);
  const std::string field = lower_case((*tokens)[3]);
  const std::string symmetry = lower_case((*tokens)[4]);
  if (object != "matrix") {
    lines.fail(fmt::format("object {} is not supported, only 'matrix' is", in_quotes(object)));
  }
  if (format != "coordinate" && format != "array") {
    lines.fail(fmt::format("format {} is not supported, only 'coordinate' and 'array' are",
                           in_quotes(format)));
  }
  const Header header{format == "coordinate", field == "integer", field == "pattern",
                      symmetry == "symmetric"};
  check_field(lines, header, field, use);
  if (symmetry != "symmetric" && symmetry != "general") {
    lines.fail(fmt::format("symmetry {} is not supported, only 'symmetric' and 'general' are",
                           in_quotes(symmetry)));
  }
  return header;
}

/// An entry as the file gives it, with its line for later messages.
struct FileEntry {
  int row;
  int column;
  double value;
  std::int64_t line;

  /// Both entries of a symmetric pair have the same position.
  [[nodiscard]] std::pair<int, int> position() const {
    return std::minmax(row, column, std::greater<>());
  }
};

struct Size {
  int size = 0;  // number of rows
  int columns = 0;
  std::int64_t entry_count = 0;
};

std::int64_t positive_integer(const Lines& lines, std::string_view token, std::string_view what,
                              std::int64_t minimum) {
  const auto number = parse<std::int64_t>(token);
  if (!number) lines.fail(fmt::format("{} is not an integer: {}", what, in_quotes(token)));
  if (*number < minimum) {
    lines.fail(fmt::format("{} must be at least {}, not {}", what, minimum, *number));
  }
  return *number;
}

Size read_size(Lines& lines, const Header& header, Use use) {
  auto tokens = lines.next_filled();
  while (tokens && tokens->front().front() == '%') tokens = lines.next_filled();
  if (!tokens) lines.fail("the file ends before the line with the size of the matrix");
  const std::size_t expected = header.coordinate ? 3 : 2;
  if (tokens->size() != expected) {
    lines.fail(fmt::format("expected the size of the matrix as '{}', found {} numbers",
                           header.coordinate ? "rows columns entries" : "rows columns",
                           tokens->size()));
  }
  const auto rows = positive_integer(lines, (*tokens)[0], "number of rows", 1);
  const auto columns = positive_integer(lines, (*tokens)[1], "number of columns", 1);
  if (rows != columns && (use != Use::general || header.symmetric)) {
    lines.fail(fmt::format("the matrix is {} x {}: it must be square", rows, columns));
  }
  if (std::max(rows, columns) > std::numeric_limits<int>::max()) {
    lines.fail(fmt::format("a matrix of {} rows is too large", rows));
  }
  const std::int64_t most = header.symmetric ? rows * (rows + 1) / 2 : rows * columns;
  const int row_count = static_cast<int>(rows);
  const int column_count = static_cast<int>(columns);
  if (!header.coordinate) return {row_count, column_count, most};
  const auto entries = positive_integer(lines, (*tokens)[2], "number of entries", 0);
  if (entries > most) {
    lines.fail(
        fmt::format("{} entries announced, but this matrix holds at most {}", entries, most));
  }
  return {row_count, column_count, entries};
}

double read_value(const Lines& lines, const Header& header, std::string_view token) {
  if (header.integer) {
    const auto integer = parse<std::int64_t>(token);
    if (!integer) lines.fail(fmt::format("value is not an integer: {}", in_quotes(token)));
    return static_cast<double>(*integer);
  }
  const auto real = parse<double>(token);
  if (!real) lines.fail(fmt::format("value is not a number: {}", in_quotes(token)));
  if (!std::isfinite(*real)) lines.fail(fmt::format("value is not finite: {}", in_quotes(token)));
  return *real;
}

int read_index(const Lines& lines, std::string_view token, std::string_view what, int size) {
  const auto index = parse<std::int64_t>(token);
  if (!index) lines.fail(fmt::format("{} index is not an integer: {}", what, in_quotes(token)));
  if (*index < 1 || *index > size) {
    lines.fail(fmt::format("{} index {} is out of range 1..{}", what, *index, size));
  }
  return static_cast<int>(*index - 1);
}

FileEntry read_coordinate(const Lines& lines, const Header& header, const Tokens& tokens,
                          const Size& size) {
  if (tokens.size() != (header.pattern ? 2 : 3)) {
    lines.fail(fmt::format("expected 'row column{}', found {} fields",
                           header.pattern ? "" : " value", tokens.size()));
  }
  const int row = read_index(lines, tokens[0], "row", size.size);
  const int column = read_index(lines, tokens[1], "column", size.columns);
  if (header.symmetric && row < column) {
    lines.fail(
        fmt::format("entry ({}, {}) lies above the diagonal: a symmetric file holds the "
                    "lower triangle only",
                    row + 1, column + 1));
  }
  const double value = header.pattern ? 1 : read_value(lines, header, tokens[2]);
  return {row, column, value, lines.number()};
}

/// Calls `take(tokens)` for each of the `count` lines of entries, and checks that no more follow.
template <class Take>
void for_each_entry_line(Lines& lines, std::int64_t count, Take take) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto tokens = lines.next_filled();
    if (!tokens) {
      lines.fail(
          fmt::format("the file ends after {} of {} entries: it is truncated, or the "
                      "number of entries is wrong",
                      i, count));
    }
    take(*tokens);
  }
  if (lines.next_filled()) {
    lines.fail(fmt::format("data after the last of the {} entries", count));
  }
}

std::vector<FileEntry> read_coordinates(Lines& lines, const Header& header, const Size& size) {
  std::vector<FileEntry> entries;
  for_each_entry_line(lines, size.entry_count, [&](const Tokens& tokens) {
    entries.push_back(read_coordinate(lines, header, tokens, size));
  });
  return entries;
}

/// Column by column; a symmetric array holds the lower triangle only. Zeros are left out.
std::vector<FileEntry> read_array(Lines& lines, const Header& header, const Size& size) {
  std::vector<FileEntry> entries;
  int row = 0;
  int column = 0;
  for_each_entry_line(lines, size.entry_count, [&](const Tokens& tokens) {
    if (tokens.size() != 1) {
      lines.fail(fmt::format("expected one value, found {} fields", tokens.size()));
    }
    const double value = read_value(lines, header, tokens[0]);
    if (value != 0) entries.push_back({row, column, value, lines.number()});
    if (++row == size.size) row = header.symmetric ? ++column : (++column, 0);
  });
  return entries;
}

void check_no_duplicates(const Lines& lines, const std::vector<FileEntry>& sorted) {
  const auto twin =
      std::adjacent_find(sorted.begin(), sorted.end(), [](const FileEntry& a, const FileEntry& b) {
        return a.row == b.row && a.column == b.column;
      });
  if (twin == sorted.end()) return;
  lines.fail_at(std::next(twin)->line, fmt::format("entry ({}, {}) was given before, on line {}",
                                                   twin->row + 1, twin->column + 1, twin->line));
}

/// An entry that makes a general matrix unsymmetric, and the value at the mirrored position.
struct Unsymmetric {
  FileEntry entry;
  double mirrored;
};

/// Nothing: the matrix is symmetric. `sorted` has the two entries of a pair side by side.
std::optional<Unsymmetric> find_unsymmetric(const std::vector<FileEntry>& sorted) {
  for (auto entry = sorted.begin(); entry != sorted.end(); ++entry) {
    if (entry->row == entry->column) continue;
    const auto other = std::next(entry);
    const bool paired = other != sorted.end() && other->position() == entry->position();
    const double mirrored = paired ? other->value : 0;
    if (entry->value != mirrored) return Unsymmetric{*entry, mirrored};
    if (paired) ++entry;
  }
  return std::nullopt;
}

void check_symmetric(const Lines& lines, const std::vector<FileEntry>& sorted) {
  const auto found = find_unsymmetric(sorted);
  if (!found) return;
  const FileEntry& entry = found->entry;
  lines.fail_at(entry.line, fmt::format("entry ({}, {}) is {} but ({}, {}) is {}: the matrix is "
                                        "not symmetric",
                                        entry.row + 1, entry.column + 1, entry.value,
                                        entry.column + 1, entry.row + 1, found->mirrored));
}

/// All that a file has, the two entries of a symmetric pair side by side.
struct Content {
  int size = 0;
  int columns = 0;
  bool symmetric = false;  // the file has the lower triangle only
  bool pattern = false;
  std::vector<FileEntry> entries;
};

Content read_content(std::istream& in, const std::string& name, Use use) {
  Lines lines(in, name);
  const Header header = read_banner(lines, use);
  const Size size = read_size(lines, header, use);
  auto entries =
      header.coordinate ? read_coordinates(lines, header, size) : read_array(lines, header, size);
  std::sort(entries.begin(), entries.end(), [](const FileEntry& a, const FileEntry& b) {
    return std::tuple(a.position(), a.column, a.line) < std::tuple(b.position(), b.column, b.line);
  });
  check_no_duplicates(lines, entries);
  if (!header.symmetric && use == Use::values) check_symmetric(lines, entries);
  return {size.size, size.columns, header.symmetric, header.pattern, std::move(entries)};
}

std::ifstream open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: cannot open this file", path));
  return file;
}

}  // namespace

SymmetricMatrix read_matrix_market(std::istream& in, const std::string& name) {
  const Content content = read_content(in, name, Use::values);
  SymmetricMatrix matrix{content.size, {}};
  for (const FileEntry& entry : content.entries) {
    if (entry.row >= entry.column) matrix.lower.push_back({entry.row, entry.column, entry.value});
  }
  return matrix;
}

SymmetricMatrix read_matrix_market_file(const std::string& path) {
  std::ifstream file = open(path);
  return read_matrix_market(file, path);
}

GeneralMatrix read_matrix_market_general_file(const std::string& path) {
  std::ifstream file = open(path);
  const Content content = read_content(file, path, Use::general);
  GeneralMatrix matrix{content.size, content.columns, {}};
  for (const FileEntry& entry : content.entries) {
    matrix.entries.push_back({entry.row, entry.column, entry.value});
    if (content.symmetric && entry.row != entry.column) {
      matrix.entries.push_back({entry.column, entry.row, entry.value});
    }
  }
  return matrix;
}

SquareMatrix read_matrix_market_square(std::istream& in, const std::string& name) {
  const Content content = read_content(in, name, Use::square);
  SquareMatrix matrix{
      content.size, !content.pattern, content.symmetric || !find_unsymmetric(content.entries), {}};
  for (const FileEntry& entry : content.entries) {
    matrix.entries.push_back({entry.row, entry.column, entry.value});
    if (content.symmetric && entry.row != entry.column) {
      matrix.entries.push_back({entry.column, entry.row, entry.value});
    }
  }
  std::sort(matrix.entries.begin(), matrix.entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  });
  return matrix;
}

SquareMatrix read_matrix_market_square_file(const std::string& path) {
  std::ifstream file = open(path);
  return read_matrix_market_square(file, path);
}

SymmetricPattern read_matrix_market_pattern(std::istream& in, const std::string& name) {
  const Content content = read_content(in, name, Use::pattern);
  SymmetricPattern pattern{content.size, {}};
  for (const FileEntry& entry : content.entries) {
    const auto [row, column] = entry.position();
    const Position position{row, column};
    if (pattern.lower.empty() || pattern.lower.back() != position) {
      pattern.lower.push_back(position);
    }
  }
  return pattern;
}

SymmetricPattern read_matrix_market_pattern_file(const std::string& path) {
  std::ifstream file = open(path);
  return read_matrix_market_pattern(file, path);
}

}  // namespace apps
