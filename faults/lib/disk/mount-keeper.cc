// Mounts file systems for the ladder, cuts their power, and takes all of it away when its stdin ends, however
// the ladder itself has ended. Loop devices are made with AUTOCLEAR: the kernel frees each with its last
// mount.
//
// One command a line, its parts separated by tabs; one answer a line: `ok`, or `failed` and why.
//
//   mount TYPE IMAGE DIR     the image as a loop device, its file system at DIR
//   tmpfs BYTES DIR
//   umount DIR
//   write-out FILE           its pages go to the disk as the kernel might write them at any time: no barrier
//   cut DIR PID              as if the power failed: what was not forced is gone. Then kills PID, which would
//   else go on
//                            writing into its mappings.

#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

/** EXT4_IOC_SHUTDOWN and XFS_IOC_GOINGDOWN: the same number and the same flag. Whatever the log has not yet
 * on disk is dropped. */
constexpr unsigned long kShutdown = 0x8004587d;
constexpr std::uint32_t kNoLogFlush = 2;
constexpr int kBusyTries = 2000;
constexpr int kBusyMicros = 5000;
/** A minute: somebody's mount namespace that was made meanwhile holds the mount for as long as it lives. */
constexpr int kLoopTries = 60'000;

struct Mounted {
  std::string dir;
  /** -1: it has none. */
  int loop;
  /** Of the image. */
  std::uint64_t inode;
};
std::vector<Mounted> mounted;

std::string Problem(const char* what) { return std::string("failed ") + what + ": " + std::strerror(errno); }

std::string Mount(const std::string& type, const std::string& image, const std::string& dir) {
  const int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
  if (control < 0) return Problem("/dev/loop-control");
  const int backing = open(image.c_str(), O_RDWR | O_CLOEXEC);
  if (backing < 0) {
    close(control);
    return Problem("the image");
  }
  std::string answer = "failed no loop device was free";
  // Somebody else may take the number between the two calls.
  for (int tries = 0; tries < 100; tries++) {
    const int number = ioctl(control, LOOP_CTL_GET_FREE);
    if (number < 0) {
      answer = Problem("LOOP_CTL_GET_FREE");
      break;
    }
    const std::string path = "/dev/loop" + std::to_string(number);
    const int loop = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (loop < 0) {
      answer = Problem(path.c_str());
      break;
    }
    loop_config config{};
    config.fd = static_cast<std::uint32_t>(backing);
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (ioctl(loop, LOOP_CONFIGURE, &config) != 0) {
      answer = Problem("LOOP_CONFIGURE");
      const bool taken = errno == EBUSY;
      close(loop);
      if (taken) continue;
      break;
    }
    const bool done = mount(path.c_str(), dir.c_str(), type.c_str(), MS_NODEV | MS_NOSUID, nullptr) == 0;
    answer = done ? "ok" : Problem("mount");
    struct stat image_stat{};
    if (done && fstat(backing, &image_stat) == 0) mounted.push_back({dir, number, image_stat.st_ino});
    close(loop);
    break;
  }
  close(backing);
  close(control);
  return answer;
}

std::string MountTmpfs(const std::string& bytes, const std::string& dir) {
  const std::string options = "size=" + bytes;
  if (mount("tmpfs", dir.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, options.c_str()) != 0)
    return Problem("mount");
  mounted.push_back({dir, -1, 0});
  return "ok";
}

/** Until the kernel has let go of it: another mount namespace that just ended may hold it a little longer.
 * With another image in it somebody else has it already. */
bool WaitForLoop(int number, std::uint64_t inode) {
  const std::string path = "/dev/loop" + std::to_string(number);
  for (int tries = 0; tries < kLoopTries; tries++) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    loop_info64 info;
    const bool known = ioctl(fd, LOOP_GET_STATUS64, &info) == 0;
    const bool free = known ? info.lo_inode != inode : errno == ENXIO;
    close(fd);
    if (free) return true;
    usleep(1000);
  }
  return false;
}

std::string Unmount(const std::string& dir) {
  for (int tries = 0; umount2(dir.c_str(), 0) != 0; tries++) {
    if (errno != EBUSY || tries == kBusyTries) return Problem("umount");
    usleep(kBusyMicros);
  }
  for (std::size_t i = mounted.size(); i-- > 0;) {
    if (mounted[i].dir != dir) continue;
    const int loop = mounted[i].loop;
    const std::uint64_t inode = mounted[i].inode;
    mounted.erase(mounted.begin() + static_cast<std::ptrdiff_t>(i));
    if (loop >= 0 && !WaitForLoop(loop, inode)) return "failed the loop device stays in use";
    break;
  }
  return "ok";
}

std::string Cut(const std::string& dir, const std::string& pid) {
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Problem("open");
  std::uint32_t flags = kNoLogFlush;
  const bool done = ioctl(fd, kShutdown, &flags) == 0;
  const std::string problem = Problem("shutdown");
  const int victim = std::atoi(pid.c_str());
  if (victim > 0) kill(victim, SIGKILL);
  close(fd);
  return done ? "ok" : problem;
}

std::string WriteOut(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return Problem("open");
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const bool done = sync_file_range(fd, 0, 0, kAll) == 0;
  const std::string problem = Problem("sync_file_range");
  close(fd);
  return done ? "ok" : problem;
}

std::string Obey(const std::vector<std::string>& parts) {
  const std::string& name = parts[0];
  if (name == "mount" && parts.size() == 4) return Mount(parts[1], parts[2], parts[3]);
  if (name == "tmpfs" && parts.size() == 3) return MountTmpfs(parts[1], parts[2]);
  if (name == "umount" && parts.size() == 2) return Unmount(parts[1]);
  if (name == "write-out" && parts.size() == 2) return WriteOut(parts[1]);
  if (name == "cut" && parts.size() == 3) return Cut(parts[1], parts[2]);
  return "failed no such command";
}

}  // namespace

int main() {
  // A terminal's ^C goes to the whole group; what is mounted still must be taken away.
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(each, SIG_IGN);
  char line[16384];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    std::vector<std::string> parts{""};
    for (const char* at = line; *at != 0 && *at != '\n'; at++) {
      if (*at == '\t') {
        parts.emplace_back();
      } else {
        parts.back() += *at;
      }
    }
    std::puts(Obey(parts).c_str());
    std::fflush(stdout);
  }
  while (!mounted.empty()) {
    // At once where that is possible, so that whoever looks next finds nothing; what a process still has open
    // goes with it.
    const char* const dir = mounted.back().dir.c_str();
    if (umount2(dir, 0) != 0) umount2(dir, MNT_DETACH);
    mounted.pop_back();
  }
  return 0;
}
