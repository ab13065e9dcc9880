// The system's page, and positions in whole pages.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace millrace {

inline std::uint32_t PageBytes() {
  static const auto bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
inline std::uint32_t PageFloor(std::uint32_t position) { return position / PageBytes() * PageBytes(); }
inline std::uint32_t PageCeiling(std::uint32_t position) { return PageFloor(position + PageBytes() - 1); }

}  // namespace millrace
