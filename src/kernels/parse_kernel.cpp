// kernels/parse_kernel.cpp -- a kernel from an expression, by recursive descent.
#include "kernels/kernel_arguments.hpp"

#include <carmina/core/error.hpp>
#include <carmina/core/format.hpp>
#include <carmina/kernels/parse_kernel.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <variant>

namespace carmina {
namespace {

struct Value;
using List = std::vector<Value>;
struct Value {
  std::variant<double, bool, std::string, List, Kernel> content;
};

// "RationalQuadratic" -> "rational_quadratic"
std::string snake_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
    if (upper && !out.empty()) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

struct Arguments {
  List positional;
  std::map<std::string, Value> named;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Kernel all() {
    Kernel kernel = sum(0);
    skip();
    if (at_ < text_.size()) refuse("an end, '+' or '*'");
    return kernel;
  }

 private:
  static constexpr int deepest = 32;

  Kernel sum(int depth) {
    Kernel total = product(depth);
    while (take('+')) total = total + product(depth);
    return total;
  }

  // Numbers among the factors are multiples.
  Kernel product(int depth) {
    double multiple = 1;
    std::optional<Kernel> kernel;
    do {
      skip();
      if (is_number_next()) {
        multiple *= number();
      } else {
        Kernel one = factor(depth);
        kernel = kernel ? *kernel * one : std::move(one);
      }
    } while (take('*'));
    if (!kernel) refuse("a kernel");
    return multiple == 1 ? *kernel : multiple * *kernel;
  }

  Kernel factor(int depth) {
    if (depth > deepest) refuse("fewer brackets");
    Kernel kernel = Gaussian(1.0);
    if (take('(')) {
      kernel = sum(depth + 1);
      expect(')');
    } else {
      kernel = called(word("the name of a kernel"), depth);
    }
    while (take('.')) {
      if (word("on") != "on") refuse("on(columns)");
      expect('(');
      const Arguments arguments = until_closed(depth + 1);
      require(arguments.named.empty() && !arguments.positional.empty(), "kernel: on() takes columns");
      const auto* list = std::get_if<List>(&arguments.positional[0].content);
      kernel = kernel.on(columns(list && arguments.positional.size() == 1 ? *list : arguments.positional));
    }
    return kernel;
  }

  Kernel called(const std::string& name, int depth) {
    expect('(');
    Arguments arguments = until_closed(depth + 1);
    std::string plain = snake_case(name);
    if (plain == "curl_free" || plain == "divergence_free" || plain == "decomposable") {
      fill(name, arguments,
           plain == "decomposable" ? std::vector<std::string>{"scalar", "A"}
                                   : std::vector<std::string>{"scalar", "bounded", "normalized"});
      const Kernel scalar = get<Kernel>(name, arguments, "scalar", "a kernel");
      const Term& term = scalar.terms()[0];
      require(scalar.terms().size() == 1 && term.weight == own_weight(term.scalar) &&
                  std::holds_alternative<Independent>(term.coupling),
              "kernel: {} takes one scalar kernel; sums and multiples go around it", name);
      if (plain == "decomposable") return Decomposable(term.scalar, matrix(name, arguments));
      std::replace(plain.begin(), plain.end(), '_', '-');
      const auto flag = [&](const char* what) {
        return arguments.named.contains(what) && get<bool>(name, arguments, what, "True or False");
      };
      return field_term(term.scalar, parse_coupling(plain, flag("bounded"), flag("normalized")));
    }
    const ScalarKernel usual = make_scalar_kernel(plain, std::nullopt);
    fill(name, arguments, kernel_argument_names(usual));
    std::optional<LengthScale> width;
    KernelParameters numbers;
    for (const auto& [key, value] : arguments.named) {
      if (key != "length_scale") {
        numbers[key] = get<double>(name, arguments, key, "a number");
      } else if (const auto* list = std::get_if<List>(&value.content)) {
        width = LengthScale(number_list(*list));
      } else {
        width = LengthScale(get<double>(name, arguments, key, "a number or a list of numbers"));
      }
    }
    return make_scalar_kernel(plain, width, numbers);
  }

  // Positional arguments by their names.
  static void fill(const std::string& name, Arguments& arguments, const std::vector<std::string>& names) {
    require(arguments.positional.size() <= names.size(), "kernel: {} takes {} arguments, found {}", name, names.size(),
            arguments.positional.size());
    for (const auto& [key, value] : arguments.named) {
      require(std::find(names.begin(), names.end(), key) != names.end(), "kernel: {} has no '{}'; it has {}", name, key,
              names.empty() ? "none" : join_text(names, ", "));
    }
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
      require(!arguments.named.contains(names[i]), "kernel: {}: '{}' is given twice", name, names[i]);
      arguments.named.emplace(names[i], arguments.positional[i]);
    }
  }

  template <class V>
  static V get(const std::string& name, const Arguments& arguments, const std::string& key, const char* kind) {
    const auto found = arguments.named.find(key);
    require(found != arguments.named.end(), "kernel: {} needs '{}'", name, key);
    const V* value = std::get_if<V>(&found->second.content);
    require(value != nullptr, "kernel: '{}' of {} must be {}", key, name, kind);
    return *value;
  }

  static std::vector<double> number_list(const List& list) {
    std::vector<double> numbers;
    for (const Value& one : list) {
      const double* number = std::get_if<double>(&one.content);
      require(number != nullptr, "kernel: a list must hold numbers");
      numbers.push_back(*number);
    }
    return numbers;
  }

  static Matrix<double> matrix(const std::string& name, const Arguments& arguments) {
    const List rows = get<List>(name, arguments, "A", "a list of lists of numbers");
    Matrix<double> A;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const List* row = std::get_if<List>(&rows[i].content);
      require(row != nullptr && row->size() == rows.size(), "kernel: 'A' of {} must be square", name);
      if (i == 0) A.resize(std::ssize(rows), std::ssize(rows));
      const std::vector<double> numbers = number_list(*row);
      A.row(static_cast<Index>(i)) = Eigen::Map<const Eigen::RowVectorXd>(numbers.data(), A.cols());
    }
    return A;
  }

  static InputColumns columns(const List& list) {
    std::vector<Index> numbers;
    std::vector<std::string> names;
    for (const Value& one : list) {
      if (const auto* name = std::get_if<std::string>(&one.content)) {
        names.push_back(*name);
      } else {
        const double* number = std::get_if<double>(&one.content);
        require(number && *number >= 0 && *number < 1e9 && *number == std::floor(*number),
                "kernel: on() takes numbers of columns, counted from 0, or names");
        numbers.push_back(static_cast<Index>(*number));
      }
    }
    require(numbers.empty() != names.empty(), "kernel: on() takes numbers of columns or names, one kind of them");
    if (names.empty()) return numbers;
    return names;
  }

  // Behind '(' or '[', the closing one included.
  Arguments until_closed(int depth, char closing = ')') {
    Arguments arguments;
    if (take(closing)) return arguments;
    do {
      skip();
      const std::size_t before = at_;
      if (closing == ')' && is_letter()) {
        const std::string name = word("a name");
        skip();
        if (at_ < text_.size() && text_[at_] == '=') {
          ++at_;
          require(!arguments.named.contains(name), "kernel: '{}' is given twice", name);
          arguments.named.emplace(name, value(depth));
          continue;
        }
        at_ = before;
      }
      arguments.positional.push_back(value(depth));
    } while (take(','));
    expect(closing);
    return arguments;
  }

  Value value(int depth) {
    if (depth > deepest) refuse("fewer brackets");
    skip();
    if (at_ == text_.size()) refuse("a value");
    if (take('[')) return {until_closed(depth + 1, ']').positional};
    if (text_[at_] == '\'' || text_[at_] == '"') {
      const char quote = text_[at_++];
      const std::size_t end = text_.find(quote, at_);
      if (end == text_.npos) refuse("a closing quote");
      const std::string name(text_.substr(at_, end - at_));
      at_ = end + 1;
      return {name};
    }
    if (is_number_next()) {
      // A number alone, or a multiple.
      const std::size_t before = at_;
      const double found = number();
      skip();
      if (at_ == text_.size() || text_[at_] != '*') return {found};
      at_ = before;
    } else {
      const std::size_t before = at_;
      const std::string name = is_letter() ? word("a value") : "";
      if (name == "True" || name == "true") return {true};
      if (name == "False" || name == "false") return {false};
      skip();
      // A bare word is a name: on(lon, lat).
      if (!name.empty() && (at_ == text_.size() || text_[at_] == ',' || text_[at_] == ')' || text_[at_] == ']')) {
        return {name};
      }
      at_ = before;
    }
    return {sum(depth)};
  }

  bool is_letter() const {
    return at_ < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_');
  }
  bool is_number_next() const {
    return at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-' ||
                                  (text_[at_] == '.' && at_ + 1 < text_.size() &&
                                   std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0));
  }

  double number() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc()) refuse("a number");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string word(const char* what) {
    skip();
    const std::size_t first = at_;
    if (!is_letter()) refuse(what);
    while (is_letter() ||
           (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-')))
      ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    const char what[] = {'\'', c, '\'', '\0'};
    if (!take(c)) refuse(what);
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    fail("kernel: '{}' is not one: expected {} at character {}", text_, expected, at_ + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return Parser(text).all(); }

}  // namespace carmina
