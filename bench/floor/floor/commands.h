// What the program `floor` can do: one function for each subcommand, given the flags after its name.
#pragma once

#include "common/args.h"

namespace bench {

/** Batches into one file: copied into a mapping or written with pwrite. */
int RunAppend(Args& args);
/** One small write and one barrier after the other. */
int RunBarrier(Args& args);
/** Reads a segment and checks every record of it. */
int RunScan(Args& args);
/** Takes memory, touches it and gives it back. */
int RunTouch(Args& args);
/** A single-threaded epoll server for PRODUCE v1 and FETCH v1. */
int RunServe(Args& args);
/** Reads numbers from stdin and prints what the histogram makes of them, so that a test can ask a sorted
 * array. */
int RunHistogram(Args& args);

}  // namespace bench
