// @ts-check
// Outbox: a service changes its database and publishes an event about it, and neither happens without the other.
//
// The service writes the change and the event (into a table "outbox") in one transaction of its own database. A worker moves
// the events from there to the log, each exactly once, also when it dies in the middle. The database keeps `nextOffset`, the
// offset that the first waiting event must get:
//
//   1. what stands in the log from nextOffset on was moved by a run that died: note it
//   2. append what waits with expectedOffset = nextOffset: it gets exactly that place or is not written
//   3. note it: in one transaction, remove the events and raise nextOffset by their number
//
// After a death between 2 and 3, and after an append whose answer was lost, the next round finds the events in step 1. For this
// the worker must be the only one that writes to its partition; when it finds somebody else's records there it stops.
//
// The database here is one JSON file that is replaced as a whole by a rename: that is a transaction, and all that the pattern
// needs of one. Yours has tables and does it better.
//
// Run: node examples/outbox.mjs            Topics on a broker of your own: outbox:1

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, json, MillraceError } from "millrace/client";
import { exampleBroker, inTemporaryDirectory, promise } from "./support.mjs";

/** @typedef {{ id: string, type: string, order: number }} OutboxEvent */
/** @typedef {{ orders: Record<string, string>, outbox: OutboxEvent[], nextOffset: number }} Tables */

const TOPIC = "outbox";
const PARTITION = 0;
const run = Date.now().toString(36);

/** A database with transactions, as small as it can be. */
class Database {
  /** @param {string} file */
  constructor(file) {
    this.file = file;
  }

  /** @returns {Promise<Tables>} */
  async read() {
    return JSON.parse(await readFile(this.file, "utf8"));
  }

  /** @param {(tables: Tables) => void} change all of it happens, or nothing */
  async transaction(change) {
    const tables = await this.read();
    change(tables);
    await this.replace(tables);
  }

  /** @param {Tables} tables */
  async replace(tables) {
    await writeFile(`${this.file}.next`, JSON.stringify(tables));
    await rename(`${this.file}.next`, this.file);
  }
}

/**
 * What the service does: the order and the event about it, together.
 *
 * @param {Database} database
 * @param {number} order
 */
const takeOrder = (database, order) =>
  database.transaction((tables) => {
    tables.orders[order] = "taken";
    tables.outbox.push({ id: `${run}-${order}`, type: "order taken", order });
  });

/**
 * The worker: moves everything that waits.
 *
 * @param {Database} database
 * @param {import("millrace/client").TypedTopic<OutboxEvent>} events
 * @param {() => void} [dieHere] called between an append and its note
 */
async function moveOutbox(database, events, dieHere = () => undefined) {
  for (;;) {
    await note(database, await countMoved(database, events));
    const { outbox, nextOffset } = await database.read();
    const batch = outbox.slice(0, 100);
    if (batch.length === 0) return;
    try {
      await events.append(batch, { partition: PARTITION, expectedOffset: nextOffset });
      console.log(`worker: appended ${batch.length} events from offset ${nextOffset} on`);
    } catch (error) {
      const maybeThere = error instanceof MillraceError && ["OUTCOME_UNKNOWN", "OFFSET_MISMATCH"].includes(error.code);
      if (!maybeThere) throw error;
      continue; // The next round looks.
    }
    dieHere();
    await note(database, batch.length);
  }
}

/**
 * How many of the waiting events are in the log already.
 *
 * @param {Database} database
 * @param {import("millrace/client").TypedTopic<OutboxEvent>} events
 */
async function countMoved(database, events) {
  const { outbox, nextOffset } = await database.read();
  let moved = 0;
  for await (const { value, offset } of events.replay({ partitions: [PARTITION], from: nextOffset }).records()) {
    if (value.id !== outbox[moved]?.id) throw new Error(`somebody else wrote to ${TOPIC}-${PARTITION} at ${offset}`);
    moved++;
  }
  if (moved > 0) console.log(`worker: ${moved} events from offset ${nextOffset} on are in the log already`);
  return moved;
}

/**
 * @param {Database} database
 * @param {number} moved
 */
const note = (database, moved) =>
  database.transaction((tables) => {
    tables.outbox.splice(0, moved);
    tables.nextOffset += moved;
  });

const broker = await exampleBroker(`${TOPIC}:1`);
const client = await connect({ broker: broker.address });
try {
  await inTemporaryDirectory(async (dir) => {
    const events = client.topic(TOPIC, { codec: /** @type {import("millrace/client").Codec<OutboxEvent>} */ (json()) });
    const database = new Database(join(dir, "database.json"));
    const [{ offset: begun }] = await client.offsetsAt(TOPIC, "latest");
    await database.replace({ orders: {}, outbox: [], nextOffset: begun });

    for (let order = 1; order <= 5; order++) await takeOrder(database, order);
    console.log("service: took 5 orders; worker: moves their events, and dies before it has noted that");
    const died = await moveOutbox(database, events, () => {
      throw new Error("killed");
    }).catch((/** @type {Error} */ error) => error.message);
    promise(died === "killed", "the worker died between the append and its transaction");

    for (let order = 6; order <= 8; order++) await takeOrder(database, order);
    console.log("service: took 3 more; worker: starts again");
    await moveOutbox(database, events);
    promise((await database.read()).outbox.length === 0, "the outbox is empty");

    const orders = [];
    for await (const { value } of events.replay({ from: begun }).records()) orders.push(value.order);
    console.log(`the log has the events of the orders ${orders.join(", ")}`);
    promise(orders.join() === "1,2,3,4,5,6,7,8", "each event is in the log once, in order");
  });
} finally {
  await client.close();
  await broker.stop();
}
