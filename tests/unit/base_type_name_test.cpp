// Names of types and functions in messages to users, as both compilers spell them.

#include <shoal/detail/base/type_name.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using shoal::type_name;
using shoal::naming::readable;
using shoal::naming::tidy;

struct Hidden {};

TEST(TypeName, OfATypeOfThisCompiler_IsAsItsAuthorWritesIt) {
  EXPECT_EQ(type_name<void>(), "void");
  EXPECT_EQ(type_name<std::vector<double>>(), "std::vector<double>");
  EXPECT_EQ((type_name<std::map<std::string, std::vector<int>>>()),
            "std::map<std::string, std::vector<int>>");
  EXPECT_EQ(type_name<std::string_view>(), "std::string_view");
  EXPECT_EQ(type_name<Hidden>(), "Hidden");
  const auto lambda = [](int n) { return n; };
  const std::string name = type_name<decltype(lambda)>();
  EXPECT_TRUE(name.starts_with("lambda in ") || name.starts_with("lambda at base_type_name_test"))
      << name;
}

TEST(TypeName, FirstOfTemplateArguments_EndsWithIt) {
  using shoal::naming::first_argument;
  EXPECT_EQ(first_argument("greet>, int>"), "greet");
  EXPECT_EQ(first_argument("&app::gen<int, int>, int>"), "app::gen<int, int>");
  EXPECT_EQ(first_argument("(lambda at folder/main.cpp:12:3)>"), "lambda at main.cpp:12");
}

TEST(TypeName, OfAFunction_IsItsName) {
  const std::string gcc =
      "static constexpr const char* F<Function, H>::name() [with auto Function = ";
  EXPECT_EQ(readable(gcc + "greet; How H = How::a]", "Function"), "greet");
  EXPECT_EQ(readable(gcc + "app::gen<std::map<int, int> >; How H = 1]", "Function"),
            "app::gen<std::map<int, int>>");
  EXPECT_EQ(readable(gcc + "{anonymous}::hidden; How H = How::a]", "Function"), "hidden");
  const std::string clang = "static const char *F<&greet, How::a>::name() [Function = ";
  EXPECT_EQ(readable(clang + "&greet, H = How::a]", "Function"), "greet");
  EXPECT_EQ(readable(clang + "&app::gen, H = How::a]", "Function"), "app::gen");
  EXPECT_EQ(readable(clang + "&(anonymous namespace)::hidden, H = How::a]", "Function"), "hidden");
  EXPECT_EQ(readable("no argument at all", "Function"), "no argument at all");
}

TEST(TypeName, OfTypeInformation_IsThatOfTheSource) {
  const std::string allocated = "std::char_traits<char>, std::allocator<char> >";
  EXPECT_EQ(tidy("std::__cxx11::basic_string<char, " + allocated), "std::string");
  EXPECT_EQ(tidy("app::Failure<std::__cxx11::basic_string<char, " + allocated + " >"),
            "app::Failure<std::string>");
  EXPECT_EQ(tidy("std::basic_string_view<char, std::char_traits<char> >"), "std::string_view");
}

TEST(TypeName, OfALambda_IsWhereItStands) {
  EXPECT_EQ(tidy("main(int, char**)::<lambda(shoal::World&)>::<lambda(int)>"), "lambda in main");
  EXPECT_EQ(tidy("app::S::operator()(int) const::<lambda(int)>"), "lambda in app::S::operator()");
  EXPECT_EQ(tidy("void tmpl(T) [with T = int]::<lambda(int)>"), "lambda in tmpl");
  EXPECT_EQ(tidy("tmpl<std::__cxx11::basic_string<char> >(T)::<lambda(int)>"),
            "lambda in tmpl<std::string>");
  EXPECT_EQ(tidy("{anonymous}::run(int)::<lambda(int)>"), "lambda in run");
  EXPECT_EQ(tidy("<lambda closure object>main()::<lambda(int)>()"), "lambda in main");
  EXPECT_EQ(tidy("<lambda(int)>"), "lambda");
  EXPECT_EQ(tidy("(lambda at /home/me/main.cpp:12:3)"), "lambda at main.cpp:12");
  EXPECT_EQ(tidy("(lambda at main.cpp:12:3){}"), "lambda at main.cpp:12");
  EXPECT_EQ(tidy("&main(int, char **)::(anonymous class)::__invoke"), "lambda in main");
}

}  // namespace
