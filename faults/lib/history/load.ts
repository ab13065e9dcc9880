// A load of producers and consumers on a broker that may be killed and started again meanwhile; all of it goes into a history.
//
//   const load = startLoad(target, address, random, mixedLoad(random, partitions));
//   … broker.kill(); address.is(undefined); … address.is(broker.port) …
//   await load.stop();

import type { Random } from "../random.js";
import { type ConsumerPlan, LoadConsumer } from "./load-consumer.js";
import { LoadProducer, type ProducerPlan } from "./load-producer.js";
import type { Address, LoadTarget, Worker } from "./worker.js";

export interface LoadPlan {
  readonly producers: readonly ProducerPlan[];
  readonly consumers: readonly ConsumerPlan[];
}

export class Load {
  constructor(readonly workers: readonly Worker[]) {}

  /** Cuts the connection of one of them. */
  cutOne(random: Random): void {
    const worker = random.pick(this.workers);
    if (worker instanceof LoadProducer) worker.cut();
    else worker.cutConnection();
  }

  /** Resolves when nothing is under way. Rejects with what ended a worker that nobody told to. */
  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    this.throwIfBroken();
  }

  throwIfBroken(): void {
    const broken = this.workers.find(({ failure }) => failure !== undefined);
    if (broken !== undefined) throw broken.failure;
  }
}

export function startLoad(target: LoadTarget, address: Address, random: Random, plan: LoadPlan): Load {
  const producers = plan.producers.map(
    (each, at) => new LoadProducer(target, address, random.fork(`producer ${at}`), each),
  );
  const consumers = plan.consumers.map(
    (each, at) => new LoadConsumer(target, address, random.fork(`consumer ${at}`), each),
  );
  const workers = [...producers, ...consumers];
  for (const worker of workers) worker.start();
  return new Load(workers);
}

export interface LoadBounds {
  readonly producers?: number;
  readonly recordBytes?: number;
  readonly batchBytes?: number;
}

/** Some of everything: acks, sizes, windows and paces that differ; readers at the end and readers anywhere. */
export function mixedLoad(random: Random, partitions: number, most: LoadBounds = {}): LoadPlan {
  const producers = Array.from({ length: random.int(1, (most.producers ?? 6) + 1) }, (_, at) => ({
    partition: at < partitions ? at : random.int(0, partitions),
    acks: random.pick([["forced"], ["written"], ["written", "forced"], ["none", "written", "forced"]] as const),
    batchRecords: random.pick([1, 5, 40]),
    recordBytes: random.pick([60, 400, most.recordBytes ?? 5_000]),
    batchBytes: most.batchBytes ?? 1_000_000,
    window: random.pick([1, 4, 32]),
    pauseMs: random.pick([0, 1, 5]),
  }));
  const consumers = Array.from({ length: random.int(1, 4) }, (_, at) => ({
    partition: at < partitions ? at : random.int(0, partitions),
    manner: random.pick(["follow", "roam"] as const),
    maxBytes: random.pick([300, 5_000, 1 << 20]),
    maxWaitMs: random.pick([0, 20, 200]),
  }));
  return { producers, consumers };
}
