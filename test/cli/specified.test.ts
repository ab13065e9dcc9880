// Every verb and every option that the command line is specified to have is there and does what it is to do; and whatever is
// wrong with a command line is refused with 2, says what is expected, and does nothing.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { fileCheckpoints } from "../../src/client/checkpoint/file.js";
import { offset } from "../../src/model/ids.js";
import { ascii } from "../support/bytes.js";
import { millrace, type VerbOptions } from "../support/cli.js";
import { FakeBroker } from "../support/fake-broker.js";
import { tempDir } from "../support/tmp.js";

interface Example {
  /** FILE, KEPT, DATA, EMPTY and PARTITION stand for one. */
  readonly args: string;
  readonly stdin?: string;
  readonly code?: number;
  readonly prints: RegExp;
}

/** By verb and option; what an option does in full is asked by the tests of its verb. */
const SPECIFIED: Readonly<Record<string, Example>> = {
  produce: { args: "produce orders", stdin: "a\nb\n", prints: /^$/ },
  "produce --partition": { args: "produce orders --partition 1 --print-offsets", stdin: "a\n", prints: /^1 \d+\n$/ },
  "produce --key-separator": { args: "produce orders --key-separator :", stdin: "k:a\n", prints: /^$/ },
  "produce --ack forced": { args: "produce orders --ack forced --print-offsets", stdin: "a\n", prints: /^\d \d+\n$/ },
  "produce --ack written": { args: "produce orders --ack written --print-offsets", stdin: "a\n", prints: /^\d \d+\n$/ },
  "produce --ack none": { args: "produce orders --ack none", stdin: "a\n", prints: /^$/ },
  "produce --framing line": { args: "produce orders --framing line", stdin: "a\n", prints: /^$/ },
  "produce --framing hex": { args: "produce orders --framing hex", stdin: "00ff\n", prints: /^$/ },
  "produce --framing base64": { args: "produce orders --framing base64", stdin: "YQ==\n", prints: /^$/ },
  "produce --framing length": { args: "produce orders --framing length", stdin: "\0\0\0\x01a", prints: /^$/ },
  "produce --batch-bytes": {
    args: "produce orders --batch-bytes 12 --partition 0 --print-offsets",
    stdin: "12345678\n12345678\n",
    prints: /^0 \d+\n0 \d+\n$/,
  },
  "produce --linger-ms": { args: "produce orders --linger-ms 1", stdin: "a\n", prints: /^$/ },
  "produce --rate": { args: "produce orders --rate 1000/s", stdin: "a\n", prints: /^$/ },
  "produce --skip-empty": { args: "produce orders --skip-empty", stdin: "a\n\nb\n", prints: /^$/ },
  "produce --print-offsets": { args: "produce orders --print-offsets", stdin: "a\n", prints: /^\d \d+\n$/ },
  consume: { args: "consume fixed --until-end", prints: /^a0\na1\nb0\n$/ },
  "consume --partition": { args: "consume fixed --partition 1 --until-end", prints: /^b0\n$/ },
  "consume --from earliest": { args: "consume fixed --from earliest --until-end", prints: /^a0\na1\nb0\n$/ },
  "consume --from latest": { args: "consume fixed --from latest --until-end", prints: /^$/ },
  "consume --from OFFSET": { args: "consume fixed --partition 0 --from 1 --until-end", prints: /^a1\n$/ },
  "consume --from TIME": { args: "consume fixed --from 2020-01-01T00:00:00Z --until-end", prints: /^a0\na1\nb0\n$/ },
  "consume --max-records": { args: "consume fixed --max-records 2 --partition 0", prints: /^a0\na1\n$/ },
  "consume --until-end": { args: "consume fixed --until-end", prints: /^a0\na1\nb0\n$/ },
  "consume --format": {
    args: "consume fixed --until-end --format %t:%p:%o:%s\\n",
    prints: /^fixed:0:0:a0\nfixed:0:1:a1\nfixed:1:0:b0\n$/,
  },
  "consume --checkpoint": { args: "consume fixed --until-end --checkpoint FILE", prints: /^a0\na1\nb0\n$/ },
  topics: { args: "topics", prints: /START +HIGH WATERMARK +DURABLE +END/ },
  "topics TOPIC": { args: "topics fixed", prints: /^TOPIC[^\n]*\nfixed +0 [^\n]*\nfixed +1 [^\n]*\n$/ },
  "topics --json": { args: "topics fixed --json", prints: /^\{.*"highWatermark":2.*\}\n\{.*\}\n$/ },
  "topics size": { args: "topics fixed --data-dir DATA", prints: / SIZE\n/ },
  "topics --checkpoint": { args: "topics fixed --checkpoint KEPT", prints: / LAG\n/ },
  offsets: { args: "offsets fixed", prints: /^PARTITION +START +HIGH WATERMARK +DURABLE +END/ },
  "offsets --at": { args: "offsets fixed --at 2020-01-01T00:00:00Z", prints: / FROM +TIME\n/ },
  "offsets --json": { args: "offsets fixed --json", prints: /^\{.*\}\n\{.*\}\n$/ },
  "offsets --checkpoint": { args: "offsets fixed --checkpoint KEPT", prints: / LAG\n/ },
  "offsets size": { args: "offsets fixed --data-dir DATA", prints: / SIZE\n/ },
  "fetch-demo": {
    args: "fetch-demo --dir EMPTY --fetch-offset 7 --min-records 2 --max-wait-ms 100 --steps 4",
    prints:
      /round 1: an older segment never waits.*\nround 2: .*times out.*\nround 3: .*came first.*\nround 4: .*during the wait/,
  },
  "fetch-demo --json": { args: "fetch-demo --dir EMPTY --max-wait-ms 100 --json", prints: /^(\{.*\}\n){5}$/ },
  "dump DIR": { args: "dump PARTITION", prints: /offset +position +length +sum +payload\n/ },
  "dump FILE": { args: `dump PARTITION/${"0".repeat(20)}.log`, prints: /record 0 / },
  "dump --json": { args: "dump PARTITION --json", prints: /^(\{.*\}\n)+$/ },
  verify: { args: "verify PARTITION", prints: /^ok / },
  "verify --json": { args: "verify PARTITION --json", prints: /^(\{.*\}\n)+$/ },
  "verify --repair": { args: "verify PARTITION --repair", prints: /^ok / },
  health: { args: "health", prints: /^ok / },
  "health --json": { args: "health --json", prints: /^\{"ok":true.*\}\n$/ },
  bench: { args: "bench --topic orders --duration 100ms --warm-up 0", prints: /p99\.9 / },
  "bench --json": { args: "bench --topic orders --duration 100ms --warm-up 0 --json", prints: /^\{.*"p99\.9":.*\}\n$/ },
  "completion bash": { args: "completion bash", prints: /complete -F/ },
};

let partition = "";

const LOCAL = new Set(["help", "fetch-demo", "dump", "verify", "completion"]);

async function run(
  { args, stdin = "" }: Pick<Example, "args" | "stdin">,
  broker: FakeBroker,
  options: VerbOptions = {},
) {
  const at = LOCAL.has(args.split(" ", 1)[0] ?? "") ? [] : ["--broker", broker.address];
  const dir = tempDir("specified");
  const empty = join(dir, "empty");
  mkdirSync(empty);
  mkdirSync(join(dir, "fixed-0"));
  const kept = join(dir, "kept");
  await fileCheckpoints(kept).save([{ topic: "fixed", partition: 0, offset: offset(1), epoch: 0 }]);
  const places: Readonly<Record<string, string>> = {
    FILE: join(dir, "file"),
    KEPT: kept,
    DATA: dir,
    EMPTY: empty,
    PARTITION: partition,
  };
  const words = args
    .split(" ")
    .map((word) => word.replace(/^(FILE|KEPT|DATA|EMPTY|PARTITION)/, (name) => places[name] ?? name));
  const [verb = "", ...rest] = words;
  return millrace([verb, ...at, ...rest], { stdin: stdin === "" ? [] : [stdin], ...options });
}

async function specifiedBroker(): Promise<FakeBroker> {
  const broker = await FakeBroker.start({ topics: { orders: 2, fixed: 2 } });
  broker.log("fixed", 0).push(ascii("a0"), ascii("a1"));
  broker.log("fixed", 1).push(ascii("b0"));
  for (const name of ["fixed-0", "fixed-1"]) broker.logs.get(name)?.times.push(1_700_000_000_000, 1_700_000_000_001);
  return broker;
}

beforeAll(async () => {
  partition = join(tempDir("partition"), "orders-0");
  expect((await millrace(["fetch-demo", "--dir", partition, "--steps", "1"])).code).toBe(0);
});

describe("as specified", () => {
  it.each(Object.entries(SPECIFIED))("%s", async (_, example) => {
    const { code, stdout, stderr } = await run(example, await specifiedBroker());
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: example.code ?? 0, stderr: "" });
    expect(stdout).toMatch(example.prints);
  });

  it("finds the broker by MILLRACE_BROKER too, and --broker comes first", async () => {
    const { address } = await specifiedBroker();
    expect((await millrace(["health"], { env: { MILLRACE_BROKER: address } })).code).toBe(0);
    const both = await millrace(["health", "--broker", address], { env: { MILLRACE_BROKER: "127.0.0.1:1" } });
    expect(both.code).toBe(0);
    expect((await millrace(["health"], { env: { MILLRACE_BROKER: "127.0.0.1:1" } })).code).toBe(1);
    expect((await millrace(["health"], { env: { MILLRACE_BROKER: "a:b" } })).code).toBe(2);
  });
});

const WRONG: readonly (readonly [string, RegExp])[] = [
  ["produce", /missing required argument 'topic'/],
  ["produce bad/topic", /no topic name: expected/],
  ["produce orders more", /too many arguments/],
  ["produce orders --ack", /argument missing: .*\(forced, written, none\)/],
  ["produce orders --ack maybe", /Allowed choices are forced, written, none/],
  ["produce orders --framing xml", /Allowed choices are line, hex, base64, length/],
  ["produce orders --partition -1", /a whole number from 0 to 99999/],
  ["produce orders --partition 1.5", /a whole number from 0 to 99999/],
  ["produce orders --batch-bytes 0", /a size from 1 to 64MiB/],
  ["produce orders --linger-ms soon", /a time from 0ms to 1h/],
  ["produce orders --rate fast", /records a second: 100 or 100\/s/],
  ["produce orders --partition 0 --key-separator :", /exclude each other/],
  ["produce orders --ack none --print-offsets", /--print-offsets needs an --ack/],
  ["produce orders --nothing", /unknown option '--nothing'/],
  ["consume", /missing required argument 'topic'/],
  ["consume fixed --from", /argument missing: earliest, latest, an offset or a time/],
  ["consume fixed --from yesterday", /It takes earliest, latest, an offset/],
  ["consume fixed --from 1", /needs --partition/],
  ["consume fixed --max-records 0", /a whole number from 1/],
  ["consume fixed --max-bytes 1", /a size from 1KiB to 1GiB/],
  ["consume fixed --format %q", /--format has %q: expected %t topic, %p partition, %o offset, %s payload/],
  ["consume fixed --checkpoint ", /It is empty: expected a path/],
  ["consume fixed --checkpoint --until-end", /Expected a path; \.\/--until-end is a file of that name/],
  ["topics a b", /too many arguments/],
  ["topics --checkpoint", /argument missing/],
  ["topics --csv", /unknown option/],
  ["offsets", /missing required argument 'topic'/],
  ["offsets fixed --at noon", /a time like 2026-11-30T14:05/],
  ["health --timeout 0", /a time from 1ms to 1h/],
  ["health now", /too many arguments/],
  ["fetch-demo", /required option '--dir <dir>' not specified/],
  ["fetch-demo --dir ", /It is empty: expected a path/],
  ["fetch-demo --dir EMPTY --steps 5", /a whole number from 1 to 4/],
  ["fetch-demo --dir EMPTY --min-records 0", /a whole number from 1/],
  ["fetch-demo --dir EMPTY --max-wait-ms 0", /a time from 50ms/],
  ["dump", /missing required argument 'file\|dir'/],
  ["dump PARTITION --head x", /a whole number from 0/],
  ["dump PARTITION --format zip", /Allowed choices are plain, crc32c/],
  ["verify", /missing required argument 'dir'/],
  ["verify ", /It is empty: expected a path/],
  ["verify PARTITION --fix", /unknown option/],
  ["backup", /missing required argument 'dir'/],
  ["backup ", /It is empty: expected a path/],
  ["backup EMPTY --data-dir ", /It is empty: expected a path/],
  ["bench --rate 0", /100 or 100\/s, or max/],
  ["bench --ack none", /Allowed choices are forced, written/],
  ["bench --batch 0", /a whole number from 1/],
  ["bench --duration 1", /a time from 100ms to 1h/],
  ["bench --connections 0", /a whole number from 1 to 1000/],
  ["completion", /missing required argument 'shell'/],
  ["completion tcsh", /Allowed choices are bash, zsh, fish/],
  ["help prodcue", /unknown command 'prodcue'\n.*Did you mean produce\?/],
  ["help nix", /unknown command 'nix'/],
  ["prodcue orders", /unknown command 'prodcue'\n.*Did you mean produce\?/],
];

/** What only a broker can say: how many partitions a topic has. */
const ASKS = new Set(["consume fixed --from 1"]);

describe("wrong usage", () => {
  it("is refused as such also where no broker is", async () => {
    const nowhere = ["--broker", "127.0.0.1:1"];
    const verbs = WRONG.filter(([args]) => /^(produce|consume) \w+ --/.test(args) && !ASKS.has(args));
    expect(verbs.length).toBeGreaterThan(15);
    for (const [args, says] of verbs) {
      // Before what stands there: an option whose value was left out is the last.
      const [verb = "", ...rest] = args.split(" ");
      const { code, stderr } = await millrace([verb, ...nowhere, ...rest], { stdin: ["a\n"] });
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toMatch(says);
    }
  });

  it.each(WRONG)("is refused with what is expected: %s", async (args, says) => {
    const broker = await specifiedBroker();
    const before = ["orders-0", "orders-1"].map((name) => broker.logs.get(name)?.end);
    const { code, stdout, stderr } = await run({ args, stdin: "a\n" }, broker);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(says);
    expect(stderr).toMatch(/^millrace: .*\n( {2}.*\n)* {2}`--help` shows how it is used\n$/);
    expect(["orders-0", "orders-1"].map((name) => broker.logs.get(name)?.end)).toEqual(before);
  });
});
