// The few socket calls the selector makes, the same on every platform: never blocking, never SIGPIPE, EINTR
// repeated. A result below zero is the errno, negated.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "core/fd.h"

namespace millrace {

/** Whether an errno only means "not now". */
bool IsAgain(int error);
/** Whether an errno says that the peer went away, which is no failure of ours. */
bool IsPeerGone(int error);
/** Whether an errno says that the process or the system has no more descriptors or memory for a socket. */
bool IsOutOfResources(int error);

/** Called once for a process: sendfile raises SIGPIPE and has no flag against it. A handler somebody set
 * stays. */
void IgnoreSigpipe();

/** The next waiting connection, not blocking and closed on exec; invalid with `*error` set when there is
 * none. */
Fd AcceptSocket(int listener, int* error);
/**
 * For a connection that was accepted; no-ops on a Unix socket. TCP_NODELAY: replies are written once a turn,
 * there is nothing to wait for. A peer that vanished without a word is noticed after two minutes: by
 * keep-alive when nothing is under way to it, and by the limit on what it has not acknowledged otherwise,
 * where the system would try for a quarter of an hour. One that is there and reads nothing is cut by that
 * limit as well, so it is never below `stall_ms`.
 */
void TuneSocket(int fd, bool tcp, std::int64_t stall_ms);

/** The error that is pending on a socket; asking clears it. */
int SocketError(int fd);
/** 0 is the end of the stream. */
ssize_t ReceiveBytes(int fd, std::uint8_t* into, std::size_t count);
/** The same bytes come again with the next call. */
ssize_t PeekBytes(int fd, std::uint8_t* into, std::size_t count);
/** `more`: something follows at once, so the kernel need not send a short packet. */
ssize_t SendBytes(int fd, const std::uint8_t* bytes, std::size_t count, bool more);
/** Two pieces of memory, one behind the other. */
ssize_t SendTwo(int fd, const std::uint8_t* first, std::size_t first_count, const std::uint8_t* second,
                std::size_t second_count);
/** Bytes that were sent and that the peer's system has not taken; −1 where that is not known. */
std::int64_t UntakenBytes(int fd);
/** 0 is the end of the file. */
ssize_t SendFile(int socket, int file, off_t position, std::size_t count);

}  // namespace millrace
