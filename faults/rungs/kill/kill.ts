// The rung `kill`: a real broker under real load dies by SIGKILL at random moments, again and again, and has to have everything it said.

import { BrokerProcess } from "../../lib/broker-process.js";
import type { Episode } from "../../lib/episode.js";
import { MODES } from "../../lib/episode-settings.js";
import { playEpisodes } from "../../lib/episodes.js";
import { sleep } from "../../lib/history/worker.js";
import type { Random } from "../../lib/random.js";
import type { Rung } from "../../lib/rung.js";

/** How long it serves until it dies: often just begun, seldom long. */
const SERVES_MS = 900;
/** A start takes some 100 ms, a stop some 20. */
const STARTS_MS = 180;
const STOPS_MS = 40;
/** The next start may take the other path (S14). */
const OTHER_PATH_CHANCE = 0.2;

export async function round(episode: Episode, random: Random): Promise<string> {
  await sleep(random.skewed(1, SERVES_MS));
  const kind = random.pick(["kill", "kill", "kill", "kill", "stop", "kill in a stop", "kill in a start"] as const);
  if (kind === "stop") {
    await episode.stop();
  } else {
    if (kind === "kill in a stop") {
      episode.broker?.signal("SIGTERM");
      await sleep(random.next() * STOPS_MS);
    }
    await episode.kill();
  }
  if (random.chance(OTHER_PATH_CHANCE)) episode.change({ "segment.mode": random.pick(MODES) });
  if (kind === "kill in a start") {
    for (let times = random.int(1, 4); times > 0; times--) {
      const starting = BrokerProcess.spawn(episode.product, episode.settings);
      await sleep(random.next() * STARTS_MS);
      await starting.kill();
    }
  }
  await episode.start();
  return counted[kind];
}

const counted = {
  kill: "kills while it served",
  stop: "clean stops",
  "kill in a stop": "kills while it stopped",
  "kill in a start": "series of kills while it started",
} as const;

export const kill: Rung = {
  name: "kill",
  title: "kill -9 of a real broker under load",
  headline: ["rounds", "records acknowledged", "records shown"],
  proves: "records acknowledged",
  about: `
A broker in a process of its own, producers and consumers on it that write down every call and every answer, and \`SIGKILL\` at a random moment: while it
serves, while it stops, while it starts and recovers. Then it is started again, sometimes with the other write path, and the load goes on. Settings are
drawn anew for each episode: both paths, both formats, both visibilities, segments from 16 KiB on (so that it dies in rolls, seals and
retention), flush policies. The oracle is the [history](#history): every record that was acknowledged, as \`written\` or \`forced\`, and every record that a consumer
saw is there, at its offset, once; \`millrace verify\` finds nothing wrong with the files.
`,
  unfit: () => Promise.resolve(undefined),
  run: (stage) => playEpisodes(stage, { rung: "kill", usualRounds: 120, usualSeconds: 75, roundsEach: 12, round }),
};
