// How far does a barrier reach when those who wait for it write to different partitions: each partition has a file of its own, and a disk
// forces files, not brokers.

import { produceCase } from "./lib/produce-case.js";
import type { Question } from "./lib/question.js";
import { brokerFlags, floorFlags, type ServerKind, startBroker, startFloor, TOPIC, usual } from "./lib/servers.js";
import { argumentsOf } from "./lib/tools.js";

const RECORD_BYTES = 128;

/** Segments that are small enough to be there for 64 partitions at once, and threads that force files beside each other. */
const floorMore = (partitions: number) => ({ partitions, forcers: 4, segment: "4MiB" });

const kindsFor = (partitions: number): readonly ServerKind[] => {
  const topics = `${TOPIC}:${partitions}`;
  return [
    {
      name: "millrace",
      start: (stand, directory, setup) => startBroker(stand, directory, setup, { topics }),
      command: (setup) => ["node dist/broker.js", ...argumentsOf({ ...brokerFlags(setup), topics })].join(" "),
    },
    {
      name: "floor",
      start: (stand, directory, setup) => startFloor(stand, directory, setup, floorMore(partitions)),
      command: (setup) => ["floor serve", ...argumentsOf({ ...floorFlags(setup), ...floorMore(partitions) })].join(" "),
    },
  ];
};

function spreads(quick: boolean, full: boolean): (readonly [producers: number, partitions: number])[] {
  if (quick) return [[64, 8]];
  const producers = [1, 8, 64, 200];
  const all = [1, 8, 64].flatMap((partitions) => producers.map((each) => [each, partitions] as const));
  // Fewer producers than partitions write to as many partitions as they are: the same as with fewer partitions.
  return full ? all : all.filter(([each, partitions]) => each >= partitions);
}

export const groupCommit: Question = {
  name: "group-commit",
  title: "Group commit over partitions",
  about:
    `Producers that send one request of 1 × ${RECORD_BYTES} bytes and wait until it is forced, closed loop over loopback, spread evenly over the partitions of ` +
    "a topic. The floor forces the files of a round on four threads beside each other, and answers when all are done.",
  ask: async (stand, measure) => {
    const seconds = stand.quick ? 1 : 4;
    for (const mode of stand.full ? (["MAPPED", "FILE_CHANNEL"] as const) : (["MAPPED"] as const)) {
      for (const [connections, partitions] of spreads(stand.quick, stand.full === true)) {
        const load = { connections, partitions, depth: 1, records: 1, size: RECORD_BYTES, ack: "forced" };
        const what = {
          label: `${mode}, ${connections} producer${connections === 1 ? "" : "s"} on ${partitions} partition${partitions === 1 ? "" : "s"}`,
          setup: { ...usual, mode },
          flush: "FORCED",
          load,
          seconds,
          warmupRequests: 20 * Math.max(connections, 50),
          bytes: 64 << 20,
        };
        await measure(produceCase(stand, what, kindsFor(partitions)));
      }
    }
  },
};
