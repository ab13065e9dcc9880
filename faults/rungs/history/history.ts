// The rung `history`: nothing is broken but connections, and every answer has to fit to every other one.

import type { Episode } from "../../lib/episode.js";
import { playEpisodes } from "../../lib/episodes.js";
import { sleep } from "../../lib/history/worker.js";
import type { Random } from "../../lib/random.js";
import type { Rung } from "../../lib/rung.js";

const BETWEEN_CUTS_MS = 120;
const CUTS = 8;

async function round(episode: Episode, random: Random): Promise<string> {
  for (let cuts = 0; cuts < CUTS; cuts++) {
    await sleep(random.next() * BETWEEN_CUTS_MS);
    episode.cutOne();
  }
  if (random.chance(0.5)) return "rounds of cut connections";
  await episode.stop();
  await episode.start();
  return "rounds of cut connections with a clean restart";
}

export const history: Rung = {
  name: "history",
  title: "Every answer fits to every other one",
  headline: ["rounds", "records acknowledged", "records shown"],
  proves: "records acknowledged",
  about: `
Producers and consumers write down what they ask and what they are told, on brokers of all settings, while connections are cut in the middle of requests
and the broker is stopped and started cleanly. Records say who they are and each of their bytes follows from that. A checker, which is tested with made-up histories that
break each of its rules, then demands:

- what was acknowledged is there, at its offset, once, and its batch in one piece; what was refused is not there; there is nothing that nobody sent;
- an offset that was acknowledged or seen has that record for ever, and offsets have no gaps;
- records of one producer are in the order in which it sent them;
- the high watermark, the log's start and the epoch never go back, and what was acknowledged before a FETCH left is below the watermark that it is told;
- a consumer never sees what later is gone: under visibility \`durable\` not by a loss of power either.

The rung \`kill\` uses the same checker.
`,
  unfit: () => Promise.resolve(undefined),
  run: (stage) => playEpisodes(stage, { rung: "history", usualRounds: 60, usualSeconds: 60, roundsEach: 4, round }),
};
