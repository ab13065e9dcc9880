// A disk whose power can be cut: one file in a FUSE file system, in memory, that counts as durable only up to
// the last fsync. A loop device on it passes a file system's flushes on as those. It speaks /dev/fuse itself,
// so that it needs no library.
//
//   power-cut-disk MOUNTPOINT MEBIBYTES      → MOUNTPOINT/disk
//
// On stdin: `cut PATH SEED` writes to PATH what the disk holds after a cut at this moment: everything that
// was flushed, and of what was written since then nothing, some sectors, those of the first writes, or all,
// as the seed says. The end of stdin ends it.

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kSector = 512;
constexpr std::uint32_t kWriteMax = 128 * 1024;
constexpr std::uint64_t kRoot = FUSE_ROOT_ID;
constexpr std::uint64_t kDisk = 2;

using Bytes = std::vector<unsigned char>;

struct Write {
  std::size_t at;
  Bytes bytes;
};

Bytes now;
Bytes durable;
std::vector<Write> unflushed;
int device = -1;

void Reply(std::uint64_t unique, int error, const void* body = nullptr, std::size_t bytes = 0) {
  fuse_out_header header{static_cast<std::uint32_t>(sizeof header + bytes), -error, unique};
  iovec parts[] = {{&header, sizeof header}, {const_cast<void*>(body), bytes}};
  (void)!writev(device, parts, bytes > 0 ? 2 : 1);
}

fuse_attr AttrOf(std::uint64_t node) {
  fuse_attr attr{};
  attr.ino = node;
  attr.mode = node == kRoot ? S_IFDIR | 0755 : S_IFREG | 0644;
  attr.nlink = 1;
  attr.size = node == kRoot ? 0 : now.size();
  attr.blocks = attr.size / kSector;
  attr.blksize = 4096;
  return attr;
}

constexpr std::uint64_t kValidSeconds = 3600;

void Lookup(const fuse_in_header& in, const char* name) {
  if (in.nodeid != kRoot || std::strcmp(name, "disk") != 0) return Reply(in.unique, ENOENT);
  fuse_entry_out out{};
  out.nodeid = kDisk;
  out.entry_valid = out.attr_valid = kValidSeconds;
  out.attr = AttrOf(kDisk);
  Reply(in.unique, 0, &out, sizeof out);
}

void GetAttr(const fuse_in_header& in) {
  fuse_attr_out out{};
  out.attr_valid = kValidSeconds;
  out.attr = AttrOf(in.nodeid);
  Reply(in.unique, 0, &out, sizeof out);
}

void Init(const fuse_in_header& in, const fuse_init_in& wish) {
  fuse_init_out out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = std::min<std::uint32_t>(wish.minor, FUSE_KERNEL_MINOR_VERSION);
  out.max_readahead = wish.max_readahead;
  out.flags = FUSE_BIG_WRITES;
  out.max_write = kWriteMax;
  Reply(in.unique, 0, &out, sizeof out);
}

void Read(const fuse_in_header& in, const fuse_read_in& read) {
  const std::size_t from = std::min<std::size_t>(read.offset, now.size());
  Reply(in.unique, 0, now.data() + from, std::min<std::size_t>(read.size, now.size() - from));
}

void WriteTo(const fuse_in_header& in, const fuse_write_in& write, const unsigned char* bytes) {
  if (write.offset + write.size > now.size()) return Reply(in.unique, ENOSPC);
  std::copy_n(bytes, write.size, now.begin() + static_cast<std::ptrdiff_t>(write.offset));
  unflushed.push_back({write.offset, Bytes(bytes, bytes + write.size)});
  fuse_write_out out{};
  out.size = write.size;
  Reply(in.unique, 0, &out, sizeof out);
}

void Flush() {
  for (const Write& write : unflushed) {
    std::copy(write.bytes.begin(), write.bytes.end(),
              durable.begin() + static_cast<std::ptrdiff_t>(write.at));
  }
  unflushed.clear();
}

void Handle(const unsigned char* request) {
  const auto& in = *reinterpret_cast<const fuse_in_header*>(request);
  const unsigned char* const body = request + sizeof in;
  switch (in.opcode) {
    case FUSE_INIT:
      return Init(in, *reinterpret_cast<const fuse_init_in*>(body));
    case FUSE_LOOKUP:
      return Lookup(in, reinterpret_cast<const char*>(body));
    case FUSE_GETATTR:
    case FUSE_SETATTR:
      return GetAttr(in);
    case FUSE_OPEN: {
      const fuse_open_out out{};
      return Reply(in.unique, 0, &out, sizeof out);
    }
    case FUSE_READ:
      return Read(in, *reinterpret_cast<const fuse_read_in*>(body));
    case FUSE_WRITE:
      return WriteTo(in, *reinterpret_cast<const fuse_write_in*>(body), body + sizeof(fuse_write_in));
    case FUSE_FSYNC:
      Flush();
      return Reply(in.unique, 0);
    case FUSE_FLUSH:
    case FUSE_RELEASE:
      return Reply(in.unique, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;  // No answer is expected.
    default:
      return Reply(in.unique, ENOSYS);
  }
}

void Cut(const std::string& path, unsigned seed) {
  std::mt19937 random(seed);
  enum { kNothing, kSectors, kFirst, kAll } const kept = static_cast<decltype(kNothing)>(random() % 4);
  const std::size_t first = unflushed.empty() ? 0 : random() % unflushed.size();
  Bytes image = durable;
  std::size_t sectors = 0;
  std::size_t survived = 0;
  for (std::size_t i = 0; i < unflushed.size(); i++) {
    const Write& write = unflushed[i];
    for (std::size_t at = 0; at < write.bytes.size(); at += kSector) {
      sectors++;
      if (kept == kNothing || (kept == kSectors && random() % 2 == 0) || (kept == kFirst && i >= first))
        continue;
      survived++;
      const std::size_t bytes = std::min(kSector, write.bytes.size() - at);
      std::copy_n(write.bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes,
                  image.begin() + static_cast<std::ptrdiff_t>(write.at + at));
    }
  }
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && std::fwrite(image.data(), 1, image.size(), file) == image.size();
  if (file != nullptr) std::fclose(file);
  std::printf(written ? "cut %zu of %zu\n" : "failed\n", survived, sectors);
  std::fflush(stdout);
}

/** False at the end of stdin. */
bool ObeyStdin() {
  char line[4096];
  char path[4096];
  unsigned seed = 0;
  if (std::fgets(line, sizeof line, stdin) == nullptr) return false;
  if (std::sscanf(line, "cut %4000s %u", path, &seed) == 2) Cut(path, seed);
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const char* const mountpoint = arguments[1];
  now.resize(std::strtoul(arguments[2], nullptr, 10) << 20);
  durable.resize(now.size());
  device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  const std::string options = "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";
  if (device < 0 || mount("power-cut-disk", mountpoint, "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    std::perror("mount");
    return 1;
  }
  std::setvbuf(stdin, nullptr, _IONBF, 0);  // poll() must see each line.
  alignas(8) static unsigned char request[kWriteMax + 4096];
  bool mounted = false;
  for (;;) {
    pollfd ready[] = {{device, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0 && errno != EINTR) break;
    if (ready[1].revents != 0 && !ObeyStdin()) break;
    if (ready[0].revents == 0) continue;
    const ssize_t bytes = read(device, request, sizeof request);
    if (bytes < 0 && errno == ENODEV) break;  // Unmounted.
    if (bytes > 0) Handle(request);
    if (!mounted) {
      std::puts("mounted");
      std::fflush(stdout);
      mounted = true;
    }
  }
  umount2(mountpoint, MNT_DETACH);
  return 0;
}
