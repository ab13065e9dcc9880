// The harness says what it found: the comparisons that a test writer trusts are right on both sides of every
// sign.

#include "test/harness.h"

#include <cstdint>

namespace t = millrace::test;

TEST("numbers of different signedness compare by what they are worth") {
  EXPECT_FALSE(t::Equal(-1, 0xffffffffU));
  EXPECT_FALSE(t::Equal(0xffffffffffffffffULL, int64_t{-1}));
  EXPECT_TRUE(t::Equal(7, 7U));
  EXPECT_TRUE(t::Less(-1, 0U));
  EXPECT_FALSE(t::Less(0U, -1));
  EXPECT_LE(uint64_t{3}, 3);
  EXPECT_GT(uint64_t{3}, -3);
}

TEST("values are shown by what they are") {
  enum class Colour : uint8_t { kRed = 3 };
  EXPECT_EQ(t::Shown(uint8_t{65}), "65");
  EXPECT_EQ(t::Shown(true), "true");
  EXPECT_EQ(t::Shown(Colour::kRed), "3");
  EXPECT_EQ(t::Shown(std::string("text")), "text");
}

TEST("bytes and strings compare by content") {
  const char left[] = "same";
  const std::string right = "same";
  EXPECT_STREQ(left, right.c_str());
  EXPECT_BYTES(left, right.data(), 4);
}
