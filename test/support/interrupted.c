// Loaded before the C library: every second ftruncate is interrupted before it does anything.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

static int calls;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define INTERRUPTED (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 2 == 0 && (errno = EINTR))

int ftruncate(int fd, off_t size) { return INTERRUPTED ? -1 : REAL(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return INTERRUPTED ? -1 : REAL(ftruncate64)(fd, size); }
