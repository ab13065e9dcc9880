// @ts-check
// A projection: balances of accounts, computed from the events that changed them.
//
// The log is the truth, and the projection is a view of it that can be thrown away. It keeps its state and the positions up to
// which it has read in one snapshot, written as one file, so that the two never differ. A start reads the snapshot and goes on
// from there; a start without one (a new version of the code, a view that was wrong) reads the log from its beginning. That both
// lead to the same is what this example shows.
//
// Events of an account have the account as their key, so they stand in one partition, in order. Between accounts there is no
// order, and this projection needs none.
//
// Run: node examples/projection.mjs        Topics on a broker of your own: accounts:3

import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, json } from "millrace/client";
import { exampleBroker, inTemporaryDirectory, promise } from "./support.mjs";

/** @typedef {{ account: string, change: number }} AccountEvent */

const TOPIC = "accounts";

/** Balances, and where in each partition they stand. */
class Balances {
  /** @type {Record<string, number>} */
  balances = {};
  /** @type {Record<number, number>} */
  positions = {};
  /** How many events this one has read itself. */
  read = 0;

  /** @param {string} file */
  static async load(file) {
    const view = new Balances();
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text !== undefined) Object.assign(view, JSON.parse(text));
    return view;
  }

  /** @param {string} file */
  async save(file) {
    const { balances, positions } = this;
    await writeFile(`${file}.next`, JSON.stringify({ balances, positions }));
    await rename(`${file}.next`, file);
  }

  /**
   * Reads what there is from its positions on. With `checkpointing` a subscription keeps positions by itself; here they belong
   * to the state, and are saved with it.
   *
   * @param {import("millrace/client").TypedTopic<AccountEvent>} events
   */
  async catchUp(events) {
    for await (const batch of events.replay({ from: { [TOPIC]: this.positions } })) {
      for (const { value } of batch) {
        this.balances[value.account] = (this.balances[value.account] ?? 0) + value.change;
        this.read++;
      }
      this.positions[batch.partition] = batch.nextOffset;
    }
  }

  get text() {
    const accounts = Object.entries(this.balances).sort(([one], [other]) => (one < other ? -1 : 1));
    return accounts.map(([account, balance]) => `${account} ${balance}`).join(", ");
  }
}

const broker = await exampleBroker(`${TOPIC}:3`);
const client = await connect({ broker: broker.address });
try {
  await inTemporaryDirectory(async (dir) => {
    const codec = /** @type {import("millrace/client").Codec<AccountEvent>} */ (json());
    const events = client.topic(TOPIC, { codec, keyOf: ({ account }) => account });
    const snapshot = join(dir, "balances.json");
    /** @param {number} count */
    const happen = async (count) => {
      const accounts = ["ada", "ben", "cem", "dot"];
      const changes = Array.from({ length: count }, (_, n) => ({
        account: accounts[n % 4] ?? "",
        change: (n * 7) % 50,
      }));
      await Promise.all(changes.map((change) => events.send(change)));
    };

    await happen(1000);
    const first = await Balances.load(snapshot);
    await first.catchUp(events);
    await first.save(snapshot);
    console.log(`read ${first.read} events, saved a snapshot: ${first.text}`);

    await happen(200);
    const second = await Balances.load(snapshot);
    await second.catchUp(events);
    await second.save(snapshot);
    console.log(`started from the snapshot, read ${second.read} events: ${second.text}`);
    promise(second.read === 200, "a start from the snapshot reads only what came since");

    const rebuilt = new Balances();
    await rebuilt.catchUp(events);
    console.log(`rebuilt from the beginning, read ${rebuilt.read} events: ${rebuilt.text}`);
    promise(rebuilt.text === second.text, "rebuilt from the beginning it is the same");
  });
} finally {
  await client.close();
  await broker.stop();
}
