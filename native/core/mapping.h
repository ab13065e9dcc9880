// A shared mapping of a file, known to the SIGBUS handler by its file's name. A page that cannot be read in
// or written is SIGBUS to whoever touches it. There is nothing to go on with then: the handler says which
// file and ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace {

struct MappingRecord;

class Mapping {
 public:
  Mapping() = default;
  ~Mapping() { Unmap(0); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /** Maps [0, bytes) for reading and writing. 0, or the errno. The first mapping of the process installs the
   * handler. */
  int Map(int fd, std::size_t bytes, const std::string& name);
  /** `written`: up to where there are bytes that the file must not lose. Idempotent. */
  void Unmap(std::size_t written);
  std::uint8_t* base() const { return base_; }
  void set_name(const std::string& name);

 private:
  std::uint8_t* base_ = nullptr;
  std::size_t bytes_ = 0;
  MappingRecord* record_ = nullptr;
};

}  // namespace millrace
