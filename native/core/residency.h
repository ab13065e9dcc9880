// Whether pages of a file lie in the page cache, asked before the event loop touches them, so that a disk
// read never stops it.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace millrace {

/**
 * True when the range can be read without waiting for a disk: all its pages are in the cache, and those that
 * somebody is reading ahead have arrived, as far as its ends tell. False also when the system cannot say:
 * whoever asks then has a worker read the range in and goes on without asking again (asking again could say
 * false for ever). `begins`: with true, whether the first and the last byte were read meanwhile, so
 * that nobody has to try them once more; false also in a file that ends before.
 */
bool PagesCached(int fd, off_t position, std::size_t bytes, bool* begins = nullptr);

}  // namespace millrace
