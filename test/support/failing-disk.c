// Loaded before the C library: while the file FAIL_SWITCH is there, calls on files whose path has FAIL_PATH in it fail with EIO:
// reads, or with FAIL_BARRIERS only fdatasync, or with FAIL_EMPTY_WRITES only writes of no bytes: so does ext4 when it has given up, also
// behind a barrier that said 0, as soon as somebody begins a transaction. With FAIL_COLD no page of them is said to be in the cache, so that a worker
// reads them in first. With FAIL_WRITING_OUT it is sync_file_range that fails, and as the kernel does it tells of that once to each
// open file that asks: to the one of the call now, and to the mapped one with its next msync.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int is_listed(int fd) {
  const char* part = getenv("FAIL_PATH");
  const char* on = getenv("FAIL_SWITCH");
  char link[64];
  char path[4096];
  if (part == NULL || on == NULL || access(on, F_OK) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strstr(path, part) != NULL;
}

static int is_bad(int fd) {
  return getenv("FAIL_BARRIERS") == NULL && getenv("FAIL_EMPTY_WRITES") == NULL && getenv("FAIL_WRITING_OUT") == NULL &&
         is_listed(fd);
}
static _Atomic int noticed = 0;
static int is_refused(int fd, size_t bytes) {
  struct statfs stat;
  if (bytes != 0 || getenv("FAIL_EMPTY_WRITES") == NULL || !is_listed(fd)) return 0;
  // Others tell every barrier.
  return noticed || (fstatfs(fd, &stat) == 0 && stat.f_type != EXT4_SUPER_MAGIC);
}

static ssize_t fail(int error) {
  errno = error;
  return -1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  return is_bad(fd) ? fail(EIO) : REAL(pread)(fd, into, bytes, at);
}
ssize_t pread64(int fd, void* into, size_t bytes, off64_t at) {
  return is_bad(fd) ? fail(EIO) : REAL(pread64)(fd, into, bytes, at);
}
ssize_t preadv2(int fd, const struct iovec* parts, int count, off_t at, int flags) {
  if (is_bad(fd)) return fail(getenv("FAIL_COLD") != NULL ? EAGAIN : EIO);
  return REAL(preadv2)(fd, parts, count, at, flags);
}
ssize_t preadv64v2(int fd, const struct iovec* parts, int count, off64_t at, int flags) {
  if (is_bad(fd)) return fail(getenv("FAIL_COLD") != NULL ? EAGAIN : EIO);
  return REAL(preadv64v2)(fd, parts, count, at, flags);
}
ssize_t sendfile(int to, int fd, off_t* at, size_t bytes);
ssize_t sendfile(int to, int fd, off_t* at, size_t bytes) {
  return is_bad(fd) ? fail(EIO) : REAL(sendfile)(to, fd, at, bytes);
}
ssize_t sendfile64(int to, int fd, off64_t* at, size_t bytes);
ssize_t sendfile64(int to, int fd, off64_t* at, size_t bytes) {
  return is_bad(fd) ? fail(EIO) : REAL(sendfile64)(to, fd, at, bytes);
}

int fdatasync(int fd) {
  return getenv("FAIL_BARRIERS") != NULL && is_listed(fd) ? (int)fail(EIO) : REAL(fdatasync)(fd);
}

int fremovexattr(int fd, const char* name) {
  if (is_listed(fd)) noticed = 1;
  return REAL(fremovexattr)(fd, name);
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  return is_refused(fd, bytes) ? fail(EROFS) : REAL(pwrite)(fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t at) {
  return is_refused(fd, bytes) ? fail(EROFS) : REAL(pwrite64)(fd, from, bytes, at);
}

// One descriptor that was mapped last is enough for a test: the active segment's.
static _Atomic int mapped_fd = -1;
static _Atomic int mapped_owes = 0;

static void note_mapped(int prot, int flags, int fd) {
  if (getenv("FAIL_WRITING_OUT") != NULL && fd >= 0 && (prot & PROT_WRITE) && (flags & MAP_SHARED)) mapped_fd = fd;
}
void* mmap(void* address, size_t bytes, int prot, int flags, int fd, off_t at) {
  note_mapped(prot, flags, fd);
  return REAL(mmap)(address, bytes, prot, flags, fd, at);
}
void* mmap64(void* address, size_t bytes, int prot, int flags, int fd, off64_t at) {
  note_mapped(prot, flags, fd);
  return REAL(mmap64)(address, bytes, prot, flags, fd, at);
}
int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned int flags) {
  if (getenv("FAIL_WRITING_OUT") == NULL || !is_listed(fd)) return REAL(sync_file_range)(fd, at, bytes, flags);
  mapped_owes = fd != mapped_fd;
  return (int)fail(EIO);
}
int msync(void* address, size_t bytes, int flags) {
  if (atomic_exchange(&mapped_owes, 0)) return (int)fail(EIO);
  return REAL(msync)(address, bytes, flags);
}
