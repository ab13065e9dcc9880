// Loaded before the C library: reads of files whose name ends in SHORT_READ bring half of what they could.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t half_of(int fd, size_t bytes) {
  const char* end = getenv("SHORT_READ");
  char link[64];
  char path[4096];
  if (end == NULL) return bytes;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < (ssize_t)strlen(end) || bytes < 2) return bytes;
  path[length] = '\0';
  return strcmp(path + length - strlen(end), end) == 0 ? bytes / 2 : bytes;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void* into, size_t bytes) { return REAL(read)(fd, into, half_of(fd, bytes)); }
ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  return REAL(pread)(fd, into, half_of(fd, bytes), at);
}
ssize_t pread64(int fd, void* into, size_t bytes, off64_t at) {
  return REAL(pread64)(fd, into, half_of(fd, bytes), at);
}
