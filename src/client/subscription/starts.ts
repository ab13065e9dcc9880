// Where the partitions of a subscription begin, and where they begin anew when a position was refused.

import { MillraceError } from "../../model/errors.js";
import { offset } from "../../model/ids.js";
import { CLIENT_START_TRIES, FETCH_PARTITIONS_MAX } from "../../model/limits.js";
import type { PartitionMetadata, TopicMetadata } from "../../protocol/metadata.js";
import { type CheckpointPosition, positionKey } from "../checkpoint/store.js";
import { LogTruncatedError, OffsetOutOfRangeError, unknownPartition } from "../errors.js";
import type { Failure } from "../fetch-round.js";
import type { Link } from "../link.js";
import { ReadPosition } from "../read-position.js";
import { knownStart, type Start, type StartPosition, startOf } from "../start-position.js";
import { chosenStart, type Restart, type SubscriptionOptions, startedPartitions, unreadStart } from "./options.js";

/** How a position came to be, and how often it was tried since the broker last answered from it. */
interface Begun {
  /** Undefined: at a saved position. */
  from: StartPosition | undefined;
  tries: number;
}

export class Starts {
  /** In the order of topics and partitions. */
  positions: readonly ReadPosition[] = [];
  /** The largest request that the broker takes: no record is larger. */
  private mayGrowTo = 0;
  private begun = new WeakMap<ReadPosition, Begun>();

  constructor(
    private readonly topics: readonly string[],
    private readonly options: SubscriptionOptions,
    /** True: each partition ends where it ended for readers when it began. */
    private readonly ends: boolean,
    private readonly saved: ReadonlyMap<string, CheckpointPosition>,
  ) {}

  /** Asks what there is. Rejects as the broker refuses, and with STORAGE_FAILURE when it refused to open one of the partitions. */
  async open(link: Link): Promise<void> {
    const metadata = await link.metadata(this.topics);
    const all = metadata.flatMap((topic) => this.wanted(topic).map((partition) => ({ topic, partition })));
    for (const topic of metadata) this.checkStarts(topic);
    checkCount(all.length);
    this.begun = new WeakMap();
    this.mayGrowTo = link.maxFrameBytes;
    this.positions = await Promise.all(all.map(({ topic, partition }) => this.begin(link, topic, partition)));
  }

  /**
   * On a link that was made anew: the broker may be another one than before. Partitions that its topics did not have when the reading
   * began are read from their start, whatever the options say of a start: all that is in them came later. Not those that are not open,
   * which are looked at again the next time; not where the caller named partitions; not what is to end. `begun` is told before they
   * count as known: where it fails, the next link finds them anew.
   */
  async reconnected(
    link: Link,
    begun: (added: readonly ReadPosition[]) => Promise<void>,
  ): Promise<readonly ReadPosition[]> {
    this.mayGrowTo = link.maxFrameBytes;
    for (const position of this.positions) position.mayGrowTo(link.maxFrameBytes);
    if (this.ends || this.options.partitions !== undefined) return [];
    const known = new Set(this.positions.map(({ topic, partition }) => positionKey(topic, partition)));
    const added = (await link.metadata(this.topics)).flatMap((topic) =>
      topic.partitions
        .filter(({ partition, highWatermark }) => highWatermark >= 0 && !known.has(positionKey(topic.topic, partition)))
        .map((partition) => this.at(topic, partition, "earliest", knownStart("earliest", partition))),
    );
    checkCount(this.positions.length + added.length);
    if (added.length > 0) await begun(added);
    this.positions = [...this.positions, ...added];
    return added;
  }

  /** Those that began at the end as it was then: begun anew, they would leave out what has come meanwhile. */
  get begunAtLatest(): readonly ReadPosition[] {
    return this.positions.filter((position) => this.begun.get(position)?.from === "latest");
  }

  /** Moves a refused position to where it may begin anew. False: nobody has chosen such a place. */
  async restart(link: Link, { position, error }: Failure): Promise<boolean> {
    const begun = this.begun.get(position) as Begun;
    if (position.isAnswered) begun.tries = 0;
    if (begun.tries++ >= CLIENT_START_TRIES) return false;
    const from = await this.chosenAfter(position, begun, error);
    if (from === undefined) return false;
    begun.from = from;
    const [topic] = await link.metadata([position.topic]);
    const partition = topic?.partitions.find((each) => each.partition === position.partition);
    if (partition === undefined) throw unknownPartition(position.topic, position.partition);
    const start = await startOf(from, position.topic, partition, link);
    position.moveTo(start.offset, start.epoch);
    return true;
  }

  private async chosenAfter(
    position: ReadPosition,
    { from }: Begun,
    error: MillraceError,
  ): Promise<StartPosition | undefined> {
    const { onTruncated = "error", onOutOfRange = "error" } = this.options;
    const truncated = error instanceof LogTruncatedError;
    if (!truncated && !(error instanceof OffsetOutOfRangeError)) return undefined;
    // Nothing was read yet and the place has moved: retention has passed `earliest` between the question and the fetch, or
    // the log was cut below `latest`. What has come since then belongs to whoever began at the end.
    if (!position.isAnswered && (typeof from === "string" || from instanceof Date)) {
      return truncated && from === "latest" ? error.epochStart : from;
    }
    const choice = truncated ? await chosen(onTruncated, error) : await chosen(onOutOfRange, error);
    return choice === "error" ? undefined : choice;
  }

  private wanted(topic: TopicMetadata): readonly PartitionMetadata[] {
    const { partitions } = this.options;
    if (partitions === undefined) return topic.partitions;
    return [...new Set(partitions)].map((number) => {
      const found = topic.partitions.find(({ partition }) => partition === number);
      if (found === undefined) throw unknownPartition(topic.topic, number);
      return found;
    });
  }

  /** Throws BAD_ARGUMENT for a start of a partition that there is not. */
  private checkStarts({ topic, partitions }: TopicMetadata): void {
    const numbers = partitions.map(({ partition }) => partition);
    for (const name of startedPartitions(this.options.from, topic)) {
      if (!numbers.some((number) => number === Number(name))) throw unreadStart(topic, name, numbers);
    }
  }

  private async begin(link: Link, metadata: TopicMetadata, partition: PartitionMetadata): Promise<ReadPosition> {
    const { topic } = metadata;
    const saved = this.saved.get(positionKey(topic, partition.partition));
    const from = saved === undefined ? chosenStart(this.options.from, topic, partition.partition) : undefined;
    // A partition that is not open has no place to begin at: the position says so.
    const start: Start =
      from === undefined || partition.highWatermark < 0
        ? { offset: saved?.offset ?? offset(0), epoch: saved?.epoch ?? -1 }
        : await startOf(from, topic, partition, link);
    const position = this.at(metadata, partition, from, start);
    if (this.ends) position.endAt(partition.highWatermark, partition.epoch);
    return position;
  }

  private at(
    { topic, recordFormat }: TopicMetadata,
    partition: PartitionMetadata,
    from: StartPosition | undefined,
    start: Start,
  ): ReadPosition {
    const position = new ReadPosition(topic, recordFormat, partition, start.offset, start.epoch, this.options);
    position.mayGrowTo(this.mayGrowTo);
    this.begun.set(position, { from, tries: 0 });
    return position;
  }
}

function checkCount(partitions: number): void {
  if (partitions <= FETCH_PARTITIONS_MAX) return;
  const text = `a subscription reads at most ${FETCH_PARTITIONS_MAX} partitions, and these are ${partitions}: make several`;
  throw new MillraceError("BAD_ARGUMENT", text);
}

async function chosen<Refusal>(choice: Restart<Refusal>, refusal: Refusal): Promise<"error" | StartPosition> {
  return typeof choice === "function" ? choice(refusal) : choice;
}
