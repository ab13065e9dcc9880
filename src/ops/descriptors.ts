// Whether the limit of open files is enough for what is configured. A number of connections that somebody wrote and that
// cannot be had is a refusal; the default gives way, and the operator is told.

import { MillraceError } from "../model/errors.js";
import { DESCRIPTORS_OTHER, DESCRIPTORS_PER_PARTITION, SEALED_FILES_MAX, SEALED_FILES_MIN } from "../model/limits.js";
import { counted } from "../model/plural.js";

export interface DescriptorPlan {
  readonly connections: number;
  readonly sealedFiles: number;
}

/** Throws BAD_CONFIG when connections that somebody asked for do not fit; they do not when they are the default. */
export function planDescriptors(
  limit: number,
  partitions: number,
  connections: number,
  isWritten: boolean,
): DescriptorPlan {
  const fixed = partitions * DESCRIPTORS_PER_PARTITION + DESCRIPTORS_OTHER;
  const forConnections = limit - fixed - SEALED_FILES_MIN;
  const taken = `${counted(partitions, "partition")} ${partitions === 1 ? "takes" : "take"} ${fixed + SEALED_FILES_MIN}`;
  if (forConnections < 1) {
    throw new MillraceError(
      "BAD_CONFIG",
      `topics: ${taken} open files, and the limit is ${limit}, which leaves none for connections; ` +
        `takes a limit of at least ${fixed + SEALED_FILES_MIN + 1} (raise it: ulimit -n), or fewer partitions`,
    );
  }
  if (isWritten && connections > forConnections) {
    throw new MillraceError(
      "BAD_CONFIG",
      `connections.max: got ${connections}, and the limit of open files is ${limit}, of which ${taken}; ` +
        `takes at most ${forConnections} (raise the limit: ulimit -n)`,
    );
  }
  const allowed = Math.min(connections, forConnections);
  const left = limit - fixed - allowed;
  return { connections: allowed, sealedFiles: Math.min(left, SEALED_FILES_MAX) };
}
