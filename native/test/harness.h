// The harness of the native tests, small enough to read: TEST("a sentence"), EXPECT_* notes a failure and
// goes on, ASSERT_* leaves the test. Each file is a program of its own (scripts/native-tests.mjs), so that a
// crash takes only its file along. It must not know what it tests; exceptions and RTTI are off as in the code
// under test.
#pragma once

#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace millrace::test {

struct Case {
  const char* name;
  void (*body)();
};

std::vector<Case>& Cases();
/** Notes that the running test failed. `what` is the whole message. */
void Fail(const char* file, int line, const std::string& what);

struct Registration {
  Registration(const char* name, void (*body)()) { Cases().push_back({name, body}); }
};

template <typename T, typename = void>
struct IsPrintable : std::false_type {};
template <typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};

template <typename T>
std::string Shown(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_same_v<T, unsigned char> || std::is_same_v<T, signed char>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (IsPrintable<T>::value) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "(" + std::to_string(sizeof(T)) + " bytes)";
  }
}

/** Whether the comparison held; a signed and an unsigned integer are compared by what they are worth. */
template <typename A, typename B, typename Compare>
bool Check(const A& a, const B& b, Compare holds, const char* expected, const char* file, int line) {
  if (holds(a, b)) return true;
  Fail(file, line,
       std::string("expected ") + expected + "\n    left:  " + Shown(a) + "\n    right: " + Shown(b));
  return false;
}

template <typename A, typename B>
bool Equal(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> &&
                std::is_signed_v<A> != std::is_signed_v<B>) {
    if constexpr (std::is_signed_v<A>) {
      return a >= 0 && static_cast<std::make_unsigned_t<A>>(a) == b;
    } else {
      return b >= 0 && a == static_cast<std::make_unsigned_t<B>>(b);
    }
  } else {
    return a == b;
  }
}

template <typename A, typename B>
bool Less(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B> &&
                std::is_signed_v<A> != std::is_signed_v<B>) {
    if constexpr (std::is_signed_v<A>) {
      return a < 0 || static_cast<std::make_unsigned_t<A>>(a) < b;
    } else {
      return b >= 0 && a < static_cast<std::make_unsigned_t<B>>(b);
    }
  } else {
    return a < b;
  }
}

}  // namespace millrace::test

#define MILLRACE_JOIN2(a, b) a##b
#define MILLRACE_JOIN(a, b) MILLRACE_JOIN2(a, b)

/** TEST("a sentence") { … } */
#define TEST(name)                                                                   \
  static void MILLRACE_JOIN(Test, __LINE__)();                                       \
  static const ::millrace::test::Registration MILLRACE_JOIN(registration, __LINE__)( \
      #name, MILLRACE_JOIN(Test, __LINE__));                                         \
  static void MILLRACE_JOIN(Test, __LINE__)()

#define MILLRACE_CHECK(a, b, holds, expected)                                                               \
  ::millrace::test::Check((a), (b), [](const auto& l, const auto& r) { return holds; }, expected, __FILE__, \
                          __LINE__)
#define MILLRACE_EQ(a, b) MILLRACE_CHECK(a, b, ::millrace::test::Equal(l, r), #a " == " #b)
#define MILLRACE_NE(a, b) MILLRACE_CHECK(a, b, !::millrace::test::Equal(l, r), #a " != " #b)
#define MILLRACE_LT(a, b) MILLRACE_CHECK(a, b, ::millrace::test::Less(l, r), #a " < " #b)
#define MILLRACE_LE(a, b) MILLRACE_CHECK(a, b, !::millrace::test::Less(r, l), #a " <= " #b)
#define MILLRACE_GT(a, b) MILLRACE_CHECK(a, b, ::millrace::test::Less(r, l), #a " > " #b)
#define MILLRACE_GE(a, b) MILLRACE_CHECK(a, b, !::millrace::test::Less(l, r), #a " >= " #b)
#define MILLRACE_TRUE(a) \
  ((a) ? true : (::millrace::test::Fail(__FILE__, __LINE__, "expected " #a " to be true"), false))
#define MILLRACE_FALSE(a) \
  ((a) ? (::millrace::test::Fail(__FILE__, __LINE__, "expected " #a " to be false"), false) : true)

#define EXPECT_EQ(a, b) (void)MILLRACE_EQ(a, b)
#define EXPECT_NE(a, b) (void)MILLRACE_NE(a, b)
#define EXPECT_LT(a, b) (void)MILLRACE_LT(a, b)
#define EXPECT_LE(a, b) (void)MILLRACE_LE(a, b)
#define EXPECT_GT(a, b) (void)MILLRACE_GT(a, b)
#define EXPECT_GE(a, b) (void)MILLRACE_GE(a, b)
#define EXPECT_TRUE(a) (void)MILLRACE_TRUE(a)
#define EXPECT_FALSE(a) (void)MILLRACE_FALSE(a)
/** The same bytes: two C strings. */
#define EXPECT_STREQ(a, b) EXPECT_EQ(std::string(a), std::string(b))
/** The same `bytes` bytes at two places. */
#define EXPECT_BYTES(a, b, bytes) EXPECT_EQ(std::memcmp((a), (b), (bytes)), 0)

#define ASSERT_EQ(a, b) \
  if (!MILLRACE_EQ(a, b)) return
#define ASSERT_NE(a, b) \
  if (!MILLRACE_NE(a, b)) return
#define ASSERT_TRUE(a) \
  if (!MILLRACE_TRUE(a)) return
#define ASSERT_FALSE(a) \
  if (!MILLRACE_FALSE(a)) return
#define ASSERT_GE(a, b) \
  if (!MILLRACE_GE(a, b)) return
#define ASSERT_GT(a, b) \
  if (!MILLRACE_GT(a, b)) return
