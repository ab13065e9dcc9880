// Loaded before the C library: counts the calls of a process that touch its data directory or a socket, and makes one of them fail. What to
// fail is read from a file that is shared with whoever started the process; the counts are left there, too.
//
// One atomic counter for each kind of call, whatever the thread: the n-th call is the n-th of the process.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The order is that of calls.ts. */
enum kind {
  WRITE, PWRITE, FSYNC, FDATASYNC, MSYNC, FALLOCATE, FTRUNCATE, RENAME, UNLINK, OPEN, PREAD, PREAD_CACHED, MMAP,
  POPULATE, SENDFILE, RECV, SEND, ACCEPT, LOG, KINDS
};

/* The error that stands for half of the bytes. */
#define SHORT (-1)
#define PATH_BYTES 512

struct control {
  uint32_t kind;
  uint32_t nth;
  int32_t error;
  _Atomic uint32_t failed;
  _Atomic uint32_t counts[32];
  char path[PATH_BYTES];
};

static struct control* control;
static char root[PATH_BYTES];

__attribute__((constructor)) static void begin(void) {
  const char* file = getenv("FAULT_CONTROL");
  const char* directory = getenv("FAULT_ROOT");
  if (file == NULL || directory == NULL) return;
  snprintf(root, sizeof root, "%s", directory);
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC);
  if (fd < 0) abort();
  void* at = (void*)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) abort();
  syscall(SYS_close, fd);
  control = at;
}

/* 0: goes through; else an errno, or SHORT. */
static int struck(enum kind kind, const char* path) {
  if (control == NULL) return 0;
  const uint32_t number = atomic_fetch_add(&control->counts[kind], 1) + 1;
  if (control->kind != (uint32_t)kind || control->nth != number) return 0;
  snprintf(control->path, sizeof control->path, "%s", path);
  atomic_fetch_add(&control->failed, 1);
  return control->error;
}

static int below_root(const char* path) { return root[0] != 0 && strncmp(path, root, strlen(root)) == 0; }

/* The file's path when it lies below the data directory. */
static int is_ours(int fd, char* path) {
  if (control == NULL) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_BYTES - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return below_root(path);
}

static int is_socket(int fd) {
  struct stat stat;
  if (control == NULL || fstat(fd, &stat) != 0 || !S_ISSOCK(stat.st_mode)) return 0;
  struct sockaddr_storage name;
  socklen_t bytes = sizeof name;
  return getsockname(fd, (struct sockaddr*)&name, &bytes) == 0 && name.ss_family == AF_INET;
}

/* What a call on a file is to answer; 0 when it is not ours. */
static int struck_file(enum kind kind, int fd) {
  char path[PATH_BYTES];
  return is_ours(fd, path) ? struck(kind, path) : 0;
}
static int struck_socket(enum kind kind, int fd) { return is_socket(fd) ? struck(kind, "a socket") : 0; }

static int struck_path(enum kind kind, const char* path) { return below_root(path) ? struck(kind, path) : 0; }

static int fail(int error) {
  errno = error;
  return -1;
}

static size_t half(size_t bytes) { return bytes > 1 ? bytes / 2 : bytes; }

/* Half of the bytes of these parts, in parts of its own. */
static int halve(const struct iovec* parts, int count, struct iovec* into) {
  size_t all = 0;
  for (int i = 0; i < count; i++) all += parts[i].iov_len;
  size_t left = half(all);
  int used = 0;
  for (int i = 0; i < count && left > 0; i++) {
    into[used] = parts[i];
    if (into[used].iov_len > left) into[used].iov_len = left;
    left -= into[used++].iov_len;
  }
  return used;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* The name, its kind, what tells that it is meant, its parameters, their names, and the same call with half of the bytes. */
#define CALL(type, name, verdict, parameters, arguments, halved) \
  type name parameters {                                         \
    const int error = verdict;                                   \
    if (error > 0) return fail(error);                           \
    if (error == SHORT) return REAL(name) halved;                \
    return REAL(name) arguments;                                 \
  }
#define PARTS(type, name, verdict, parameters, arguments, halved)            \
  type name parameters {                                                     \
    const int error = verdict;                                               \
    if (error > 0) return fail(error);                                       \
    struct iovec* some = error == SHORT ? calloc(count + 1, sizeof *some) : NULL; \
    if (some == NULL) return REAL(name) arguments;                           \
    const int used = halve(parts, count, some);                              \
    const ssize_t done = REAL(name) halved;                                  \
    free(some);                                                              \
    return done;                                                             \
  }

static int on_write(int fd) {
  char path[PATH_BYTES];
  if (fd == STDERR_FILENO) return struck(LOG, "stderr");
  if (is_ours(fd, path)) return struck(WRITE, path);
  return struck_socket(SEND, fd);
}
static int on_read(int fd) {
  char path[PATH_BYTES];
  return is_ours(fd, path) ? struck(PREAD, path) : struck_socket(RECV, fd);
}

CALL(ssize_t, write, on_write(fd), (int fd, const void* from, size_t bytes), (fd, from, bytes), (fd, from, half(bytes)))
CALL(ssize_t, read, on_read(fd), (int fd, void* into, size_t bytes), (fd, into, bytes), (fd, into, half(bytes)))
PARTS(ssize_t, writev, on_write(fd), (int fd, const struct iovec* parts, int count), (fd, parts, count), (fd, some, used))
PARTS(ssize_t, readv, on_read(fd), (int fd, const struct iovec* parts, int count), (fd, parts, count), (fd, some, used))

#define POSITIONED(suffix, offset)                                                                                      \
  CALL(ssize_t, pwrite##suffix, struck_file(PWRITE, fd), (int fd, const void* from, size_t bytes, offset at),           \
       (fd, from, bytes, at), (fd, from, half(bytes), at))                                                              \
  CALL(ssize_t, pread##suffix, struck_file(PREAD, fd), (int fd, void* into, size_t bytes, offset at),                   \
       (fd, into, bytes, at), (fd, into, half(bytes), at))                                                              \
  PARTS(ssize_t, pwritev##suffix, struck_file(PWRITE, fd), (int fd, const struct iovec* parts, int count, offset at),   \
        (fd, parts, count, at), (fd, some, used, at))                                                                   \
  PARTS(ssize_t, preadv##suffix, struck_file(PREAD, fd), (int fd, const struct iovec* parts, int count, offset at),     \
        (fd, parts, count, at), (fd, some, used, at))                                                                   \
  PARTS(ssize_t, preadv##suffix##v2, struck_file(PREAD_CACHED, fd),                                                     \
        (int fd, const struct iovec* parts, int count, offset at, int flags), (fd, parts, count, at, flags),            \
        (fd, some, used, at, flags))                                                                                    \
  CALL(int, ftruncate##suffix, struck_file(FTRUNCATE, fd), (int fd, offset bytes), (fd, bytes), (fd, bytes))            \
  CALL(int, fallocate##suffix, struck_file(FALLOCATE, fd), (int fd, int mode, offset at, offset bytes),                 \
       (fd, mode, at, bytes), (fd, mode, at, bytes))                                                                    \
  CALL(ssize_t, sendfile##suffix, struck_socket(SENDFILE, to), (int to, int fd, offset* at, size_t bytes),              \
       (to, fd, at, bytes), (to, fd, at, half(bytes)))

#define preadvv2 preadv2
POSITIONED(, off_t)
POSITIONED(64, off64_t)

CALL(int, fsync, struck_file(FSYNC, fd), (int fd), (fd), (fd))
CALL(int, fdatasync, struck_file(FDATASYNC, fd), (int fd), (fd), (fd))
CALL(int, msync, struck(MSYNC, "a mapping"), (void* at, size_t bytes, int flags), (at, bytes, flags), (at, bytes, flags))
CALL(int, rename, struck_path(RENAME, from), (const char* from, const char* to), (from, to), (from, to))
CALL(int, unlink, struck_path(UNLINK, path), (const char* path), (path), (path))
CALL(int, madvise, advice == 23 ? struck(POPULATE, "a mapping") : 0, (void* at, size_t bytes, int advice),
     (at, bytes, advice), (at, bytes, advice))

CALL(ssize_t, recv, struck_socket(RECV, fd), (int fd, void* into, size_t bytes, int flags), (fd, into, bytes, flags),
     (fd, into, half(bytes), flags))
CALL(ssize_t, send, struck_socket(SEND, fd), (int fd, const void* from, size_t bytes, int flags),
     (fd, from, bytes, flags), (fd, from, half(bytes), flags))
CALL(ssize_t, sendmsg, struck_socket(SEND, fd), (int fd, const struct msghdr* message, int flags),
     (fd, message, flags), (fd, message, flags))
CALL(ssize_t, recvmsg, struck_socket(RECV, fd), (int fd, struct msghdr* message, int flags), (fd, message, flags),
     (fd, message, flags))
CALL(int, accept4, struck_socket(ACCEPT, fd), (int fd, struct sockaddr* name, socklen_t* bytes, int flags),
     (fd, name, bytes, flags), (fd, name, bytes, flags))
CALL(int, accept, struck_socket(ACCEPT, fd), (int fd, struct sockaddr* name, socklen_t* bytes), (fd, name, bytes),
     (fd, name, bytes))

#define MAPPING(name, offset)                                                                              \
  void* name(void* at, size_t bytes, int access, int flags, int fd, offset from) {                         \
    const int error = (flags & MAP_SHARED) != 0 && fd >= 0 ? struck_file(MMAP, fd) : 0;                    \
    if (error <= 0) return REAL(name)(at, bytes, access, flags, fd, from);                                 \
    fail(error);                                                                                           \
    return MAP_FAILED;                                                                                     \
  }
MAPPING(mmap, off_t)
MAPPING(mmap64, off64_t)

/* A third argument is there only with O_CREAT. Taking it in any case is what the C library does itself. */
#define OPENING(name)                                                 \
  int name(const char* path, int flags, ...) {                        \
    va_list rest;                                                     \
    va_start(rest, flags);                                            \
    const mode_t mode = va_arg(rest, mode_t);                         \
    va_end(rest);                                                     \
    const int error = struck_path(OPEN, path);                        \
    return error > 0 ? fail(error) : REAL(name)(path, flags, mode);   \
  }
OPENING(open)
OPENING(open64)

#define OPENING_AT(name)                                                      \
  int name(int from, const char* path, int flags, ...) {                      \
    va_list rest;                                                             \
    va_start(rest, flags);                                                    \
    const mode_t mode = va_arg(rest, mode_t);                                 \
    va_end(rest);                                                             \
    const int error = struck_path(OPEN, path);                                \
    return error > 0 ? fail(error) : REAL(name)(from, path, flags, mode);     \
  }
OPENING_AT(openat)
OPENING_AT(openat64)

/* The C library opens the directory for it, past the names above. */
#define SCANNING(name, entry)                                                                      \
  int name(const char* path, struct entry*** list, int (*filter)(const struct entry*),             \
           int (*order)(const struct entry**, const struct entry**)) {                             \
    const int error = struck_path(OPEN, path);                                                     \
    return error > 0 ? fail(error) : REAL(name)(path, list, filter, order);                        \
  }
SCANNING(scandir, dirent)
SCANNING(scandir64, dirent64)
