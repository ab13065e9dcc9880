// Reads, writes and barriers that are whole or have failed: short counts and EINTR end here. The barriers are
// counted, so that a test can tell what was really issued.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace millrace {

/** Reads until `bytes` or the end of the file. −1 with errno. */
ssize_t ReadAt(int fd, void* into, std::size_t bytes, off_t position);
/** 0, or the errno. */
int WriteAt(int fd, const void* from, std::size_t bytes, off_t position);
/** Writes all of `parts` (any number of them; they are changed on the way). 0, or the errno. */
int WriteVectorsAt(int fd, iovec* parts, std::size_t count, off_t position);
/** Zeros from `from` to `to`, in pieces that the cache keeps whole. 0, or the errno. */
int WriteZeros(int fd, off_t from, off_t to);
/** Cuts or extends. 0, or the errno. */
int ResizeFile(int fd, off_t bytes);

/** 0, or the errno. A barrier that failed must not be repeated and called good: the next one can say 0 with
 * the data gone. */
int ForceFile(int fd);
int ForceFileData(int fd);
int ForceMapped(int fd, void* address, std::size_t bytes);

/** Barriers issued by this process through the functions above. */
std::uint64_t BarrierCount();

}  // namespace millrace
