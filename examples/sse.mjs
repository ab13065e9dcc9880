// @ts-check
// Fan-out to browsers: a topic as server-sent events, where the id of an event is its offset.
//
// A browser that loses its connection comes back by itself and says the id of the last event that it saw (Last-Event-ID). Since
// that is an offset, the server reads on behind it: no event is missing and none comes twice, without the server keeping
// anything about its browsers.
//
// One subscription serves all browsers that are at the end of the topic. One that is behind (new, or back again) reads what it
// lacks by a replay of its own, and joins the others when it has caught up. One that does not take what it is sent is cut when
// too much waits for it: it comes back, with the id of the last event that it saw.
//
// Run: node examples/sse.mjs               Topics on a broker of your own: news:1
//      node examples/sse.mjs --serve       goes on, to be looked at in a browser

import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, json } from "millrace/client";
import { exampleBroker, promise } from "./support.mjs";

/** @typedef {{ headline: string }} News */
/** @typedef {import("millrace/client").TypedTopic<News>} NewsTopic */
/** @typedef {import("node:http").ServerResponse} Response */

const TOPIC = "news";
const PARTITION = 0;
/** What may wait for a browser that takes nothing. */
const WAITING_BYTES_MAX = 256 * 1024;

class FanOut {
  /** @type {Set<Response>} */
  browsers = new Set();
  #end = new AbortController();

  /**
   * @param {NewsTopic} news
   * @param {number} next the offset that the shared subscription comes to next
   */
  constructor(news, next) {
    this.news = news;
    this.next = next;
    this.running = this.#run();
  }

  async #run() {
    const { signal } = this.#end;
    try {
      for await (const { offset, value } of this.news
        .follow({ partitions: [PARTITION], from: this.next, signal })
        .records()) {
        this.next = offset + 1;
        for (const browser of this.browsers) this.#send(browser, offset, value);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Serves a browser from an offset on.
   *
   * @param {Response} browser
   * @param {number} from
   */
  async join(browser, from) {
    browser.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    browser.write("retry: 100\n\n");
    browser.once("close", () => this.browsers.delete(browser));
    let at = from;
    // Each round reads what came while the one before was read. The last look and the joining are one step of the event loop.
    while (at < this.next && !browser.destroyed) {
      for await (const { offset, value } of this.news.replay({ partitions: [PARTITION], from: at }).records()) {
        if (browser.destroyed) return;
        if (!browser.write(event(offset, value))) await taken(browser);
        at = offset + 1;
        // What lies behind this the shared subscription sends.
        if (at === this.next) break;
      }
    }
    if (!browser.destroyed) this.browsers.add(browser);
  }

  /**
   * @param {Response} browser
   * @param {number} offset
   * @param {News} value
   */
  #send(browser, offset, value) {
    browser.write(event(offset, value));
    if (browser.writableLength > WAITING_BYTES_MAX) browser.destroy();
  }

  async close() {
    this.#end.abort();
    await this.running;
    for (const browser of this.browsers) browser.end();
  }
}

/**
 * Until the browser has taken what was written, or is gone. What did not come is not listened for any longer.
 *
 * @param {Response} browser
 */
async function taken(browser) {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(browser, "drain", { signal }), once(browser, "close", { signal })]);
  } finally {
    over.abort();
  }
}

/**
 * @param {number} offset
 * @param {News} value JSON has no line breaks, so one `data` line is enough
 */
const event = (offset, value) => `id: ${offset}\ndata: ${JSON.stringify(value)}\n\n`;

const PAGE = `<!doctype html><title>news</title><ul id="news"></ul><script>
  new EventSource("/events").onmessage = ({ lastEventId, data }) => {
    const item = document.createElement("li");
    item.textContent = lastEventId + " " + JSON.parse(data).headline;
    document.getElementById("news").prepend(item);
  };
</script>`;

/**
 * What a browser does with an EventSource: reads events, and after a cut asks for what follows the last one.
 *
 * @param {string} url
 * @param {number} count ends with so many events
 * @param {number} [cutAfter] is cut once, after so many
 * @returns {Promise<string[]>}
 */
async function browse(url, count, cutAfter = Number.POSITIVE_INFINITY) {
  const seen = /** @type {string[]} */ ([]);
  let lastId = /** @type {string | undefined} */ (undefined);
  let cut = false;
  while (seen.length < count) {
    const ending = new AbortController();
    const headers = lastId === undefined ? undefined : { "last-event-id": lastId };
    const response = await fetch(url, { headers, signal: ending.signal });
    let text = "";
    for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (response.body))) {
      text += Buffer.from(chunk).toString();
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const each of events) {
        const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(each) ?? [];
        if (id === undefined || data === undefined) continue;
        lastId = id;
        seen.push(JSON.parse(data).headline);
        if (seen.length === count || (!cut && seen.length >= cutAfter)) break;
      }
      if (seen.length >= count || (!cut && seen.length >= cutAfter)) break;
    }
    ending.abort();
    if (seen.length < count) {
      cut = true;
      console.log(`a browser was cut after event ${lastId}, and comes back with it`);
    }
  }
  return seen;
}

const broker = await exampleBroker(`${TOPIC}:1`);
const client = await connect({ broker: broker.address });
try {
  const news = client.topic(TOPIC, { codec: /** @type {import("millrace/client").Codec<News>} */ (json()) });
  const [{ offset: begun }] = await client.offsetsAt(TOPIC, "latest");
  const hub = new FanOut(news, begun);
  const server = createServer((request, response) => {
    if (request.url === "/") return void response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
    if (request.url !== "/events") return void response.writeHead(404).end();
    const last = Number(request.headers["last-event-id"] ?? begun - 1);
    // What is no offset, or one that was never given out, begins with this run.
    const from = Number.isSafeInteger(last) && last >= -1 && last < hub.next ? last + 1 : begun;
    hub.join(response, from).catch((error) => response.destroy(error));
  });
  server.listen(process.argv.includes("--serve") ? 8080 : 0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const url = `http://127.0.0.1:${port}/events`;
  console.log(`serving http://127.0.0.1:${port}/`);

  /** @type {string[]} */
  const published = [];
  /** @param {number} count */
  const publish = async (count) => {
    for (let i = 0; i < count; i++) {
      const headline = `headline ${published.length}`;
      published.push(headline);
      await news.send({ headline }, { partition: PARTITION });
      await sleep(2);
    }
  };
  if (process.argv.includes("--serve")) {
    const stop = once(process, "SIGINT");
    for (let running = true; running; ) {
      await publish(1);
      running = (await Promise.race([stop.then(() => "stop"), sleep(1000)])) !== "stop";
    }
  } else {
    const early = [browse(url, 100), browse(url, 100, 30)];
    await publish(60);
    const late = browse(url, 100, 80);
    await publish(40);
    const all = await Promise.all([...early, late]);
    console.log(`published ${published.length} events to ${all.length} browsers`);
    promise(
      all.every((seen) => seen.join() === published.join()),
      "each browser saw each event once, in order, the late one and those that were cut, too",
    );
  }
  await hub.close();
  server.close();
  server.closeAllConnections();
} finally {
  await client.close();
  await broker.stop();
}
