// The command line itself: help, wrong use, exit codes; and the small verbs.

import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { offset, partitionId } from "../../src/model/ids.js";
import { RequestKind } from "../../src/protocol/api-keys.js";
import { encodeMetadataResponse } from "../../src/protocol/metadata.js";
import { ascii } from "../support/bytes.js";
import { jsonRows, millrace } from "../support/cli.js";
import { errorAnswer, FakeBroker } from "../support/fake-broker.js";

const VERBS = ["produce", "consume", "topics", "health"];

describe("the command line", () => {
  it.each(["--help", "-h", "help"])("says what there is: %s", async (flag) => {
    const { code, stdout, stderr } = await millrace([flag]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const verb of [...VERBS, "serve"]) expect(stdout).toContain(`\n  ${verb} `);
    expect(stdout).toContain("A first minute:");
  });

  it.each(VERBS)("has help with an example for %s", async (verb) => {
    const { code, stdout } = await millrace([verb, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("--broker");
    expect(stdout).toMatch(/Examples?:\n {2}\$ .*millrace/);
  });

  it("prints its version", async () => {
    const { code, stdout } = await millrace(["--version"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    ["no verb", [], "Usage: millrace"],
    ["an unknown verb", ["prodduce"], "Did you mean produce?"],
    ["an unknown option", ["consume", "orders", "--until-ned"], "--until-end"],
    ["no topic", ["produce"], "missing required argument 'topic'"],
    ["a topic too many", ["consume", "orders", "clicks"], "too many arguments"],
    ["no topic's name: produce", ["produce", "bad topic"], "no topic name"],
    ["no topic's name: consume", ["consume", "bad topic"], "no topic name"],
    ["no topic's name: topics", ["topics", "bad topic"], "no topic name"],
    ["no topic's name: offsets", ["offsets", ""], "no topic name"],
    ["a bad number", ["produce", "orders", "--partition", "x"], "a whole number"],
    ["a bad size", ["produce", "orders", "--batch-bytes", "1 parsec"], "a size from"],
    ["a bad rate", ["produce", "orders", "--rate", "0"], "100 or 100/s"],
    ["an unknown ack", ["produce", "orders", "--ack", "maybe"], "Allowed choices are forced, written, none"],
    ["a bad position", ["consume", "orders", "--from", "yesterday"], "earliest, latest, an offset, a time like"],
    ["a bad address", ["topics", "--broker", "a:b:c"], "no broker address"],
  ])("refuses %s with 2", async (_, args, says) => {
    const { code, stdout, stderr } = await millrace(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(says);
  });

  it("refuses what only a broker can tell with 2 as well", async () => {
    const { address } = await FakeBroker.start({ topics: { orders: 2 } });
    for (const args of [
      ["produce", "orders", "--partition", "0", "--key-separator", ":"],
      ["produce", "orders", "--key-separator", ""],
      ["consume", "orders", "--from", "7"],
      ["consume", "orders", "--format", "%x"],
      ["consume", "orders", "--format", "100%"],
    ]) {
      const { code, stderr } = await millrace([...args, "--broker", address]);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain("--help");
    }
  });

  it("says that no broker is running, and how to start one", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    for (const args of [["topics"], ["consume", "orders"], ["produce", "orders"], ["health"]]) {
      const { code, stderr } = await millrace([...args, "--broker", `127.0.0.1:${port}`]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/connection refused[\s\S]*npm start/);
    }
  });

  it("says where to look when the broker's storage has failed", async () => {
    const broker = await FakeBroker.start({
      intercept: ({ kind, correlationId, socket }) => {
        if (kind === RequestKind.METADATA_V2 || kind === RequestKind.HELLO_V1) return false;
        socket.write(errorAnswer(correlationId, ErrorCodes.STORAGE_FAILURE));
        return true;
      },
    });
    broker.log("orders", 0).push(ascii("a"));
    for (const args of [
      ["produce", "orders"],
      ["consume", "orders", "--until-end"],
    ]) {
      const { code, stderr } = await millrace([...args, "--broker", broker.address], { stdin: ["a\n"] });
      expect(code).toBe(1);
      expect(stderr).toMatch(/STORAGE_FAILURE[\s\S]*broker's log[\s\S]*\/readyz[\s\S]*`millrace verify DIR`/);
    }
  });

  it("says that what answers is no broker", async () => {
    const server = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const { code, stderr } = await millrace(["topics", "--broker", `127.0.0.1:${port}`]);
    expect(code).toBe(1);
    expect(stderr).toContain("is that the port of a millrace broker?");
  });
});

describe("topics", () => {
  it("prints a table, or JSON", async () => {
    const broker = await FakeBroker.start({ topics: { orders: 2, clicks: 1 } });
    broker.log("orders", 1).push(ascii("a"), ascii("b"));
    const { code, stdout } = await millrace(["topics", "--broker", broker.address]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "TOPIC   PARTITION  FORMAT  START  HIGH WATERMARK  DURABLE  END  RECORDS",
        "clicks          0  crc32c      0               0        0    0        0",
        "orders          0  crc32c      0               0        0    0        0",
        "orders          1  crc32c      0               2        2    2        2",
        "",
      ].join("\n"),
    );
    const json = await millrace(["topics", "orders", "--json", "--broker", broker.address]);
    expect(jsonRows(json.stdout)).toMatchObject([
      { topic: "orders", partition: 0, records: 0 },
      { topic: "orders", partition: 1, highWatermark: 2, records: 2 },
    ]);
    const health = await millrace(["health", "--json", "--broker", broker.address]);
    expect(jsonRows(health.stdout)).toMatchObject([{ ok: true, topics: 2, partitions: 3, refused: [] }]);
    expect((await millrace(["topics", "nothing", "--broker", broker.address])).code).toBe(1);
  });
});

const none = offset(-1);
const refused = {
  partition: partitionId(0),
  epoch: -1,
  logStartOffset: none,
  highWatermark: none,
  durableOffset: none,
  logEndOffset: none,
};

describe("a partition that the broker refused to open", () => {
  it("is named by topics, by health and by consume", async () => {
    const broker = await FakeBroker.start({
      intercept: ({ kind, socket, correlationId }) =>
        kind === RequestKind.METADATA_V2 &&
        (socket.write(
          encodeMetadataResponse(2, correlationId, [
            { topic: "orders", recordFormat: "crc32c", partitions: [refused] },
          ]),
        ) ||
          true),
    });
    expect((await millrace(["topics", "--broker", broker.address])).stdout).toMatch(/orders +0 +crc32c +refused/);
    const health = await millrace(["health", "--broker", broker.address]);
    expect(health.code).toBe(0);
    expect(health.stderr).toContain("orders-0 is not open");
    const consume = await millrace(["consume", "orders", "--broker", broker.address]);
    expect(consume.code).toBe(1);
    expect(consume.stderr).toContain("orders-0 is not open");
  });
});

describe("a broker that takes the connection and does not answer", () => {
  it("is given up by each verb after ten seconds, and what is wrong is said, as docs/operations.md has it", async () => {
    const { address } = await FakeBroker.start({ intercept: () => true });
    const startedAt = performance.now();
    const verbs = [["consume", "orders"], ["produce", "orders"], ["topics"], ["bench"]];
    const results = await Promise.all(
      verbs.map((verb) => millrace([...verb, "--broker", address], { stdin: ["x\n"] })),
    );
    const took = performance.now() - startedAt;
    for (const { code, stderr } of results) {
      expect(code).toBe(1);
      expect(stderr).toContain("the broker accepts connections and does not answer: its log may say why");
    }
    expect(took).toBeGreaterThan(9_500);
    expect(took).toBeLessThan(15_000);
  }, 30_000);
});

describe("health", () => {
  it("is well when the broker answers", async () => {
    const broker = await FakeBroker.start();
    const { code, stdout } = await millrace(["health", "--broker", broker.address]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok 127\.0\.0\.1:\d+ fake 0 topics=1 partitions=1 ms=[\d.]+\n$/);
  });

  it("O03 fails on a broker that accepts and does not answer, within its deadline", async () => {
    const silent = await FakeBroker.start({ intercept: () => true });
    const deaf = await FakeBroker.start({ intercept: ({ kind }) => kind !== RequestKind.HELLO_V1 });
    for (const { address } of [silent, deaf]) {
      const startedAt = performance.now();
      const { code, stderr } = await millrace(["health", "--broker", address, "--timeout", "200ms"]);
      expect(code).toBe(1);
      expect(stderr).toContain("no answer before its deadline");
      expect(performance.now() - startedAt).toBeLessThan(1500);
    }
  });
});
