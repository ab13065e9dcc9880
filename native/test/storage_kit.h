// What the storage tests share: a directory on a disk, record regions, what they look like when stored
// (written apart from the code under test, bit by bit), and a way to break a descriptor under its owner.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "core/abi.h"
#include "core/record_format.h"
#include "core/segment_writer.h"

namespace millrace::test {

using Memory = std::vector<std::uint8_t>;

class ScratchDir {
 public:
  ScratchDir() {
    const char* const asked = getenv("MILLRACE_TEST_DIR");
    path_ = std::string(asked != nullptr ? asked : "/var/tmp") + "/millrace-storage-XXXXXX";
    (void)!mkdtemp(path_.data());
  }
  ~ScratchDir() {
    if (DIR* dir = opendir(path_.c_str())) {
      while (const dirent* entry = readdir(dir)) unlink(At(entry->d_name).c_str());
      closedir(dir);
    }
    rmdir(path_.c_str());
  }
  std::string At(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::uint32_t SlowCrc32c(const std::uint8_t* bytes, std::size_t count) {
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return ~crc;
}

inline void AddInt32(Memory* out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<std::uint8_t>(value >> shift));
}

/** Never zero, so that a tail shows; told apart by `seed`. */
inline Memory Payload(std::size_t bytes, std::uint32_t seed) {
  Memory payload(bytes);
  for (std::size_t i = 0; i < bytes; i++)
    payload[i] = static_cast<std::uint8_t>(1 + (seed * 31 + i * 7) % 255);
  return payload;
}

inline Memory Wire(const std::vector<std::uint32_t>& sizes, std::uint32_t seed = 1) {
  Memory wire;
  for (const std::uint32_t size : sizes) {
    AddInt32(&wire, size);
    const Memory payload = Payload(size, seed++);
    wire.insert(wire.end(), payload.begin(), payload.end());
  }
  return wire;
}

inline Memory Stored(RecordFormatId format, const std::vector<std::uint32_t>& sizes, std::uint32_t seed = 1) {
  Memory stored;
  for (const std::uint32_t size : sizes) {
    const Memory payload = Payload(size, seed++);
    AddInt32(&stored, size);
    if (format == RecordFormatId::kCrc32c) AddInt32(&stored, SlowCrc32c(payload.data(), payload.size()));
    stored.insert(stored.end(), payload.begin(), payload.end());
  }
  return stored;
}

inline void Append(Memory* to, const Memory& more) { to->insert(to->end(), more.begin(), more.end()); }

inline Memory ReadWhole(const std::string& path) {
  Memory contents;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    std::uint8_t buffer[65536];
    while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file)) {
      contents.insert(contents.end(), buffer, buffer + n);
    }
    std::fclose(file);
  }
  return contents;
}

inline void WriteWhole(const std::string& path, const Memory& contents) {
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    if (!contents.empty()) (void)!std::fwrite(contents.data(), 1, contents.size(), file);
    std::fclose(file);
  }
}

inline std::int64_t SizeOf(const std::string& path) {
  struct stat stat{};
  return ::stat(path.c_str(), &stat) == 0 ? static_cast<std::int64_t>(stat.st_size) : -1;
}

inline const RecordFormat& Format(RecordFormatId id) {
  return *FindRecordFormat(static_cast<std::uint32_t>(id));
}

inline SegmentWriterConfig Config(const std::string& path, SegmentMode mode, RecordFormatId format,
                                  std::uint32_t capacity = 1 << 20) {
  SegmentWriterConfig config;
  config.path = path;
  config.mode = mode;
  config.format = &Format(format);
  config.capacity = capacity;
  config.index_interval = 4096;
  config.reserve = capacity;
  return config;
}

constexpr SegmentMode kModes[] = {SegmentMode::kFileChannel, SegmentMode::kMapped};
constexpr RecordFormatId kFormats[] = {RecordFormatId::kPlain, RecordFormatId::kCrc32c};

/** While this lives, `fd` is another file: the next call on it fails as it does there. */
class Sabotage {
 public:
  Sabotage(int fd, const char* path) : fd_(fd), kept_(fcntl(fd, F_DUPFD_CLOEXEC, 0)) {
    const int other = open(path, O_RDWR | O_CLOEXEC);
    dup2(other, fd_);
    close(other);
  }
  ~Sabotage() {
    dup2(kept_, fd_);
    close(kept_);
  }

 private:
  const int fd_;
  const int kept_;
};

/** A fixed seed unless MILLRACE_SEED says another; printed, so that a failure can be played again. */
inline std::mt19937 Random() {
  const char* const asked = getenv("MILLRACE_SEED");
  const auto seed =
      asked != nullptr ? static_cast<unsigned>(strtoul(asked, nullptr, 10)) : std::random_device{}();
  std::printf("seed %u\n", seed);
  return std::mt19937(seed);
}

}  // namespace millrace::test
