// What differs between systems, behind one set of functions: platform_linux.cc and platform_darwin.cc. Each
// function is one system call or the fallback for it; when and why it is made is decided elsewhere.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/error.h"

#if !defined(__linux__) && !defined(__APPLE__)
#error "millrace runs on Linux and macOS"
#endif

namespace millrace::platform {

/** The calling thread gets a smaller share of the processor than the others of this process. */
void GiveWay();

/** "linux-x64" or the like. */
const char* Name();

/**
 * `open`, closed on exec, made with mode 0644. Reads leave no trace in the file's times where that can be
 * had: on Linux each read after a write would begin a transaction of the file system's journal, and wait with
 * it for a barrier that is under way.
 */
int Open(const char* path, int flags);

/** `fsync`, to the medium: on macOS F_FULLFSYNC. */
int ForceFile(int fd);
/** The same without metadata that reading does not need, where there is such a call. */
int ForceFileData(int fd);
/** Forces a range of a shared mapping of `fd`, begun at a page, to the medium. */
int ForceMapped(int fd, void* address, std::size_t bytes);

/**
 * On ext4 begins a transaction of the journal, with nothing in it: EROFS or EIO where nothing can be changed
 * there any more, else 0.
 */
int TryJournal(int fd);

enum class ReserveResult { kReserved, kFailed, kUnsupported };
/** Blocks for [from, to), without changing the file's size. kFailed leaves errno. */
ReserveResult ReserveBlocks(int fd, off_t from, off_t to);

enum class PopulateResult { kPopulated, kFailed, kUnsupported };
/** Faults pages of a shared mapping in for writing, and makes them dirty. */
PopulateResult PopulateForWriting(void* address, std::size_t bytes);
/** From here on a fault in the range of a mapping brings its own page and nothing around it. */
void FaultAlone(void* address, std::size_t bytes);
/**
 * Writes dirty pages of the range to the disk and waits for that; false when it failed or cannot be done
 * here. No barrier: the disk may still hold them in its cache. Takes no error away from the barriers of `fd`.
 */
bool WriteOut(int fd, off_t position, std::size_t bytes);

/**
 * What was written to the mapping is the file's from here on, for `ForceFile` or because the mapping goes
 * away. Linux has one cache for both.
 */
void HandOverMapping(void* address, std::size_t written);

/** `pread` that does not wait for a disk: −1 with EAGAIN when the first byte is not cached; short when later
 * ones are not. */
ssize_t ReadCached(int fd, void* into, std::size_t bytes, off_t position);
/** The range will be read soon, from front to back. */
void ReadAhead(int fd, off_t position, std::size_t bytes);
/** From here on the system reads through this descriptor what it is asked for and nothing behind it. */
void NoReadAhead(int fd);
/** Drops clean cached pages from `position` to the end. */
int DropCache(int fd, off_t position);

/** 1 when the file system of `path` lives in memory, 0 when not, −1 with errno. */
int IsMemoryFileSystem(const char* path);

}  // namespace millrace::platform
