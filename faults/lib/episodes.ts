// Episodes one after the other until enough rounds have been played, with their counts and what they found added up.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Episode } from "./episode.js";
import { Random } from "./random.js";
import { type Failure, type RungResult, replayOf, type Stage } from "./rung.js";

export interface EpisodesOptions {
  readonly rung: string;
  /** Without --rounds and --seconds. */
  readonly usualRounds: number;
  /** It may be over earlier. Without --rounds. */
  readonly usualSeconds: number;
  readonly roundsEach: number;
  /** Plays one round and says what it counts as. The broker runs before and after it. */
  readonly round: (episode: Episode, random: Random) => Promise<string>;
}

/** An episode that failed says enough; five of them say it is not by chance. */
const FAILURES_MAX = 5;

export async function playEpisodes(stage: Stage, options: EpisodesOptions): Promise<RungResult> {
  const until = performance.now() + (stage.seconds ?? (stage.rounds === undefined ? options.usualSeconds : 1e9)) * 1000;
  const rounds = stage.rounds ?? (stage.seconds === undefined ? options.usualRounds : Number.POSITIVE_INFINITY);
  const counts: Record<string, number> = { rounds: 0, episodes: 0 };
  const count = (what: string, by = 1): void => {
    counts[what] = (counts[what] ?? 0) + by;
  };
  const failures: Failure[] = [];
  let losses = 0;
  for (
    let number = 0;
    counts.rounds < rounds && performance.now() < until && failures.length < FAILURES_MAX;
    number++
  ) {
    const random = new Random(stage.seed).fork(number);
    const dataDir = join(stage.directory, `episode-${number}`);
    await mkdir(dataDir, { recursive: true });
    const episode = new Episode(stage.product, dataDir, random);
    let failed = true;
    try {
      await episode.start();
      for (let round = 0; round < options.roundsEach && counts.rounds < rounds && performance.now() < until; round++) {
        count(await options.round(episode, random));
        count("rounds");
      }
      const verdict = await episode.judge();
      losses += verdict.losses;
      for (const [what, by] of Object.entries(verdict.counts)) count(what, by);
      failed = verdict.violations.length > 0;
      if (failed) failures.push(...verdict.violations.slice(0, 3).map(({ rule, what }) => failure(`${rule}: ${what}`)));
    } catch (error) {
      failures.push(failure(String(error instanceof Error ? error.message : error)));
    } finally {
      await episode.end(failed);
    }
    count("episodes");
    if (number % 10 === 9) stage.progress(`${counts.rounds} rounds, ${failures.length} failures`);

    function failure(what: string): Failure {
      stage.progress(`episode ${number}: ${what}; the broker warned: ${episode.warnings}`);
      return {
        what: `episode ${number} (${JSON.stringify(episode.settings)}): ${what}; the broker warned: ${episode.warnings}`,
        replay: replayOf(options.rung, stage),
      };
    }
  }
  return { counts, losses, failures, skipped: [] };
}
