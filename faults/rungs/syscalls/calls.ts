// What shim.c can make fail, and how the broker may take it. The order is that of its `enum kind`.

import { constants } from "node:os";

const { EIO, ENOSPC, EMFILE, EINTR, EAGAIN, ENOMEM, ECONNRESET, EPIPE, ECONNABORTED, EDQUOT } = constants.errno;

/** Half of the bytes go through. */
export const SHORT = -1;

export interface Failing {
  readonly name: string;
  readonly errno: number;
  /** Nobody may notice: it says that the call was not carried out, or carried out in part, and asks for another one. */
  readonly invisible: boolean;
}

const seen = (name: string, errno: number): Failing => ({ name, errno, invisible: false });
const unseen = (name: string, errno: number): Failing => ({ name, errno, invisible: true });

const eio = seen("EIO", EIO);
const enospc = seen("ENOSPC", ENOSPC);
const emfile = seen("EMFILE", EMFILE);
const enomem = seen("ENOMEM", ENOMEM);
const reset = seen("ECONNRESET", ECONNRESET);
const interrupted = unseen("EINTR", EINTR);
const again = unseen("EAGAIN", EAGAIN);
const short = unseen("short", SHORT);

export interface Call {
  readonly name: string;
  readonly errors: readonly Failing[];
  /** As strace names the system calls behind it. */
  readonly strace: readonly string[];
}

export const CALLS: readonly Call[] = [
  { name: "write", errors: [eio, enospc, interrupted, short], strace: ["write", "writev"] },
  {
    name: "pwrite",
    errors: [eio, enospc, seen("EDQUOT", EDQUOT), interrupted, short],
    strace: ["pwrite64", "pwritev"],
  },
  { name: "fsync", errors: [eio, enospc, interrupted], strace: ["fsync"] },
  { name: "fdatasync", errors: [eio, enospc, interrupted], strace: ["fdatasync"] },
  { name: "msync", errors: [eio, enospc, interrupted], strace: ["msync"] },
  { name: "fallocate", errors: [eio, enospc, interrupted], strace: ["fallocate"] },
  { name: "ftruncate", errors: [eio, enospc, interrupted], strace: ["ftruncate"] },
  { name: "rename", errors: [eio, enospc], strace: ["rename"] },
  { name: "unlink", errors: [eio], strace: ["unlink"] },
  { name: "open", errors: [eio, enospc, emfile, interrupted], strace: ["open", "openat"] },
  { name: "pread", errors: [eio, enomem, interrupted, short], strace: ["pread64", "preadv", "read", "readv"] },
  { name: "preadv2", errors: [eio, interrupted, again, short], strace: ["preadv2"] },
  { name: "mmap", errors: [enomem, emfile], strace: ["mmap"] },
  { name: "madvise", errors: [eio, enomem, interrupted], strace: ["madvise"] },
  { name: "sendfile", errors: [eio, enomem, reset, interrupted, again, short], strace: ["sendfile"] },
  { name: "recv", errors: [eio, enomem, reset, interrupted, again, short], strace: ["recvfrom", "recvmsg"] },
  { name: "send", errors: [eio, enomem, reset, seen("EPIPE", EPIPE), interrupted, again, short], strace: ["sendto"] },
  {
    name: "accept",
    errors: [eio, emfile, enomem, seen("ECONNABORTED", ECONNABORTED), interrupted, again],
    strace: ["accept4", "accept"],
  },
  // Its own log. Losing a line is no reason to lose the broker.
  {
    name: "log",
    errors: [
      unseen("EIO", EIO),
      unseen("ENOSPC", ENOSPC),
      unseen("EPIPE", EPIPE),
      unseen("EAGAIN", EAGAIN),
      interrupted,
      short,
    ],
    strace: [],
  },
];

export interface Injection {
  readonly call: Call;
  readonly failing: Failing;
  /** From 1. */
  readonly nth: number;
}

export const shown = ({ call, failing, nth }: Injection): string => `${call.name} ${nth} ${failing.name}`;
