// Lets an addon that was compiled on a current Linux load on one with glibc 2.28 and the libstdc++ of GCC 8
// (Debian 10, RHEL 8): what the headers would bind to a newer symbol is defined here, hidden, and so bound at
// the link. Sources above this file need not know. Building in a container of that age does the same for who
// has one; on musl and macOS none of this is compiled. test/package checks with objdump that nothing newer is
// left.

#include <cstdlib>  // tells which C library this is

#if defined(__linux__) && defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <typeinfo>

// The version that every symbol of an architecture's first glibc has.
#if defined(__x86_64__)
#define FIRST_GLIBC "GLIBC_2.2.5"
#else
#define FIRST_GLIBC "GLIBC_2.17"
#endif

// `name` as the first glibc had it, under the name old_`name`.
#define OLD(name) __asm__(".symver old_" #name "," #name "@" FIRST_GLIBC)
// A definition under the assembler's name `name`. Said so because a header has declared it already, maybe as
// visible.
#define STANDS_FOR(name) __asm__(name) __attribute__((visibility("hidden")))

extern "C" {

// Moved from libpthread and libdl into libc in glibc 2.34 (pthread_sigmask in 2.32), under new versions. On
// an older system they are found in those libraries, which Node itself is linked with.
OLD(pthread_create);
OLD(pthread_join);
OLD(pthread_once);
OLD(pthread_sigmask);
OLD(dlopen);
OLD(dladdr);
int old_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int old_pthread_join(pthread_t, void**);
int old_pthread_once(pthread_once_t*, void (*)());
int old_pthread_sigmask(int, const sigset_t*, sigset_t*);
void* old_dlopen(const char*, int);
int old_dladdr(const void*, void*);

int ThreadCreate(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) STANDS_FOR("pthread_create");
int ThreadJoin(pthread_t, void**) STANDS_FOR("pthread_join");
int ThreadOnce(pthread_once_t*, void (*)()) STANDS_FOR("pthread_once");
int ThreadSigmask(int, const sigset_t*, sigset_t*) STANDS_FOR("pthread_sigmask");
void* LibraryOpen(const char*, int) STANDS_FOR("dlopen");
int LibraryOfAddress(const void*, void*) STANDS_FOR("dladdr");

int ThreadCreate(pthread_t* id, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  return old_pthread_create(id, attributes, body, argument);
}
int ThreadJoin(pthread_t id, void** result) { return old_pthread_join(id, result); }
int ThreadOnce(pthread_once_t* once, void (*action)()) { return old_pthread_once(once, action); }
int ThreadSigmask(int how, const sigset_t* set, sigset_t* before) {
  return old_pthread_sigmask(how, set, before);
}
void* LibraryOpen(const char* path, int flags) { return old_dlopen(path, flags); }
int LibraryOfAddress(const void* address, void* info) { return old_dladdr(address, info); }

// Functions of their own since glibc 2.33. On these two architectures the kernel's structure is the
// library's.
int StatOfFd(int fd, struct stat* result) STANDS_FOR("fstat64");
int StatOfPath(const char* path, struct stat* result) STANDS_FOR("stat64");
int StatOfLink(const char* path, struct stat* result) STANDS_FOR("lstat64");

int StatOfFd(int fd, struct stat* result) { return static_cast<int>(syscall(SYS_fstat, fd, result)); }
int StatOfPath(const char* path, struct stat* result) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, 0));
}
int StatOfLink(const char* path, struct stat* result) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW));
}

// glibc 2.32: shared_ptr counts without atomics while it is set. In Node it never is.
extern char always_threaded STANDS_FOR("__libc_single_threaded");
char always_threaded = 0;

}  // extern "C"

// libstdc++ 3.4.29: `new T[n]` with an n beyond any memory. Without exceptions either way out is the end.
[[noreturn]] void BadArrayLength() STANDS_FOR("_ZSt28__throw_bad_array_new_lengthv");
void BadArrayLength() { std::abort(); }

// libstdc++ 3.4.26: make_shared without RTTI asks it last, after a comparison that finds every one of this
// addon's own.
bool IsMakeShared(const std::type_info&) STANDS_FOR("_ZNSt19_Sp_make_shared_tag5_S_eqERKSt9type_info");
bool IsMakeShared(const std::type_info&) { return false; }

// libstdc++ 3.4.30: the same wait under a new version, as it may throw now.
void ConditionWait(std::condition_variable*, std::unique_lock<std::mutex>*)
    STANDS_FOR("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void ConditionWait(std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  pthread_cond_wait(condition->native_handle(), lock->mutex()->native_handle());
}

#endif
