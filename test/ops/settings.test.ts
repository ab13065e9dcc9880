// Settings: every source, every refusal, without a process. What the program does with them is in program.test.ts.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { planDescriptors } from "../../src/ops/descriptors.js";
import { listenFailed } from "../../src/ops/listening.js";
import { helpText, markdownTable, printConfig } from "../../src/ops/settings/print.js";
import { type Resolved, resolve } from "../../src/ops/settings/resolve.js";
import { fromDocument, fromEnvironment, fromFile, fromFlags } from "../../src/ops/settings/sources.js";
import { flagOf, settingKeys, variableOf } from "../../src/ops/settings/table.js";
import { tempDir } from "../support/tmp.js";

interface Written {
  readonly flags?: readonly string[];
  readonly environment?: Record<string, string>;
  readonly file?: string;
}

function sourcesOf({ flags = [], environment = {}, file }: Written) {
  const path = join(tempDir("settings"), "millrace.toml");
  writeFileSync(path, file ?? "");
  return { path, sources: [fromFlags(flags), fromEnvironment(environment), fromFile(path)] };
}

function settingsOf(written: Written): Resolved {
  const { resolved, problems } = resolve(sourcesOf(written).sources);
  if (resolved === undefined) throw new Error(problems.join("\n"));
  return resolved;
}

function problemsOf(written: Written): { problems: readonly string[]; path: string } {
  const { sources, path } = sourcesOf(written);
  return { problems: resolve(sources).problems ?? [], path };
}

describe("values that cannot be meant", () => {
  it("are shown as they were written, also what JSON has no word for", () => {
    expect(problemsOf({ file: "port = nan" }).problems[0]).toMatch(/^port: got NaN \(/);
    expect(problemsOf({ file: "port = -inf" }).problems[0]).toMatch(/^port: got -Infinity \(/);
  });

  it("as hosts that are neither an address nor a name are refused before anything is looked up", () => {
    for (const host of ["a b", "256.1.1.1", "1.2.3", "a..b", "::g", "[::1]", "a/b", "7"]) {
      expect(problemsOf({ flags: [`--host=${host}`, `--ops-host=${host}`] }).problems).toEqual([
        expect.stringMatching(/^host: got .*; takes an address or a name to listen on$/),
        expect.stringMatching(/^ops\.host: got .*; takes an address or a name to listen on$/),
      ]);
    }
    for (const host of [
      "0.0.0.0",
      "::",
      "fe80::1%eth0",
      "localhost",
      "broker-1.example.org.",
      "my_host",
      "bücher.de",
      "10.example",
    ])
      expect(settingsOf({ flags: [`--host=${host}`] }).settings.host).toBe(host);
  });
});

describe("where settings come from", () => {
  it("O02 a flag beats the environment, which beats the file, which beats the default", () => {
    const file = "port = 1\nhost = '::1'\nmax.frame.bytes = '1MiB'\n";
    const environment = { MILLRACE_PORT: "2", MILLRACE_HOST: "localhost" };
    const resolved = settingsOf({ flags: ["--port", "3"], environment, file });
    expect(resolved.settings.port).toBe(3);
    expect(resolved.settings.host).toBe("localhost");
    expect(resolved.settings["max.frame.bytes"]).toBe(1024 * 1024);
    expect(resolved.settings["stop.timeout.ms"]).toBe(30_000);
    expect(resolved.origin("port")).toBe("flag --port");
    expect(resolved.origin("host")).toBe("environment MILLRACE_HOST");
    expect(resolved.origin("max.frame.bytes")).toMatch(/millrace\.toml$/);
    expect(resolved.isWritten("stop.timeout.ms")).toBe(false);
  });

  it("O02 --print-config says each value and where it came from, and can be read back as a file", () => {
    const file =
      "retention.ms = '7d'\n[topics.orders]\npartitions = 3\nretention.bytes = '10GiB'\n[topics.'a.b']\npartitions = 1\n";
    const first = settingsOf({ flags: ["--segment-bytes=64MiB", "--connection-idle-ms=1m"], file });
    const printed = printConfig(first);
    expect(printed).toContain('segment.bytes = "64MiB"  # flag --segment-bytes\n');
    expect(printed).toContain('max.frame.bytes = "8MiB"  # default\n');
    expect(printed).toMatch(/retention\.bytes = "10GiB" {2}# .*millrace\.toml \[topics\.orders\]\n/);
    for (const key of settingKeys) if (key !== "topics") expect(printed).toContain(`${key} = `);
    const second = settingsOf({ file: printed });
    expect(second.settings).toEqual(first.settings);
    expect(second.topics).toEqual(first.topics);
  });

  it("O02 --print-config read back leaves defaults defaults: they give way where what somebody wrote is a refusal", () => {
    const first = settingsOf({ flags: ["--port=1"] });
    const second = settingsOf({ file: printConfig(first) });
    for (const key of settingKeys)
      if (key !== "topics") expect([key, second.isWritten(key)]).toEqual([key, key === "port"]);
  });

  it("O02 --print-config can be read back whatever characters a name has", () => {
    const first = settingsOf({ environment: { MILLRACE_DATA_DIR: './a\u007fb\tc\u0001"\\' }, file: "" });
    expect(settingsOf({ file: printConfig(first) }).settings).toEqual(first.settings);
    const named = resolve([
      fromDocument({ port: 1, topics: { t: { partitions: 1, visibility: "durable" } } }, "a\nb\u007f.toml"),
    ]);
    const again = settingsOf({ file: printConfig(named.resolved as Resolved) });
    expect([again.settings.port, again.topics[0].visibility]).toEqual([1, "durable"]);
  });

  it("every setting is a key, a flag and a variable, and its default is one that it takes", () => {
    const defaults = settingsOf({});
    for (const key of settingKeys) {
      expect(helpText()).toContain(`  ${flagOf(key)} (`);
      expect(markdownTable()).toContain(`| \`${key}\``);
      expect(defaults.settings).toHaveProperty([key]);
    }
    expect(variableOf("data.dir")).toBe("MILLRACE_DATA_DIR");
    expect(flagOf("data.dir")).toBe("--data-dir");
    expect(defaults.topics).toMatchObject([{ name: "default", partitions: 1, "segment.bytes": 128 * 1024 * 1024 }]);
  });

  it("none switches off what a source of lower rank has switched on", () => {
    const file = "retention.ms = '1h'\n";
    expect(settingsOf({ file }).settings["retention.ms"]).toBe(3_600_000);
    const resolved = settingsOf({ file, flags: ["--retention-ms=none"] });
    expect(resolved.settings["retention.ms"]).toBeUndefined();
    expect(resolved.isWritten("retention.ms")).toBe(true);
  });
});

describe("topics", () => {
  it("come from a list or from tables, and a list of higher rank says how many there are", () => {
    const file = "[topics.orders]\npartitions = 5\nsegment.bytes = '32MiB'\n[topics.clicks]\npartitions = 1\n";
    expect(settingsOf({ file }).topics.map(({ name, partitions }) => [name, partitions])).toEqual([
      ["clicks", 1],
      ["orders", 5],
    ]);
    const [orders, ...others] = settingsOf({ file, environment: { MILLRACE_TOPICS: "orders:7" } }).topics;
    expect(orders).toMatchObject({ name: "orders", partitions: 7, "segment.bytes": 32 * 1024 * 1024 });
    expect(others).toEqual([]);
  });

  it("a topic has the general settings where it has none of its own", () => {
    const file = "segment.bytes = '64MiB'\n[topics.orders]\npartitions = 1\nvisibility = 'durable'\n";
    expect(settingsOf({ file }).topics).toMatchObject([{ "segment.bytes": 64 * 1024 * 1024, visibility: "durable" }]);
  });
});

describe("O01 what is not understood is a refusal that names key, value, what it takes and where it was written", () => {
  const refusals: readonly (readonly [what: string, written: Written, problem: RegExp])[] = [
    ["an unknown flag", { flags: ["--dat-dir=x"] }, /^--dat-dir: no such flag; did you mean --data-dir\?$/],
    [
      "an unknown variable",
      { environment: { MILLRACE_PROT: "1" } },
      /^MILLRACE_PROT: no such setting \(environment\); did you mean MILLRACE_PORT\?$/,
    ],
    [
      "an unknown key",
      { file: "segment.byts = 1" },
      /^segment\.byts: no such setting \(.*millrace\.toml\); did you mean segment\.bytes\?$/,
    ],
    [
      "a heading that is written as a key",
      { file: "data = '/srv'" },
      /^data: no such setting \(.*millrace\.toml\); did you mean data\.dir\?$/,
    ],
    [
      "the beginning of several flags",
      { flags: ["--segment=1GiB"] },
      /^--segment: no such flag; did you mean --segment-mode, --segment-bytes or --segment-roll-ms\?$/,
    ],
    ["a heading that is none, with nothing below it", { file: "[retentoin]" }, /^retentoin: no such setting \(/],
    [
      "an empty table for a value",
      { file: "port = {}" },
      /^port: got \{\} \(.*; takes a whole number from 0 to 65535$/,
    ],
    [
      "an empty table for a topic's value",
      { file: "[topics.a]\npartitions = 1\n[topics.a.visibility]" },
      /^topics\.a\.visibility: got \{\} \(/,
    ],
    [
      "an unknown key of a topic",
      { file: "[topics.a]\npartitions = 1\nvisibilty = 'durable'" },
      /^topics\.a\.visibilty: no such setting of a topic .* did you mean visibility\?$/,
    ],
    [
      "a key that is not a topic's",
      { file: "[topics.a]\npartitions = 1\nport = 1" },
      /^topics\.a\.port: port cannot be set for one topic/,
    ],
    [
      "a topic without partitions",
      { file: "[topics.a]\nvisibility = 'durable'" },
      /^topics\.a\.partitions: missing \(.*millrace\.toml\); takes a whole number from 1 to 99999$/,
    ],
    ["a topic that is no table", { file: "topics.a = 3" }, /^topics\.a: got 3 .* takes a table/],
    [
      "a name that is none",
      { file: "[topics.'a b']\npartitions = 1" },
      /^topics\.a b: not the name of a topic \(.*millrace\.toml\); takes /,
    ],
    [
      "a topic that is named twice",
      { flags: ["--topics=orders:1,clicks:1,orders:2"] },
      /^topics: got "orders:1,clicks:1,orders:2" \(flag --topics\), and orders is named twice; takes name:partitions/,
    ],
    [
      "text for a number",
      { flags: ["--port", "abc"] },
      /^port: got "abc" \(flag --port\); takes a whole number from 0 to 65535$/,
    ],
    ["a number out of range", { flags: ["--port=65536"] }, /^port: got "65536"/],
    [
      "an empty value",
      { environment: { MILLRACE_DATA_DIR: "" } },
      /^data\.dir: got "" \(environment MILLRACE_DATA_DIR\); takes a directory$/,
    ],
    ["a size in decimal units", { flags: ["--segment-bytes=64MB"] }, /^segment\.bytes: got "64MB" .* KiB, MiB or GiB$/],
    ["a fraction", { file: "segment.bytes = 1.5" }, /^segment\.bytes: got 1\.5 \(/],
    ["a negative size", { file: "segment.bytes = -1" }, /^segment\.bytes: got -1 \(/],
    [
      "a time without a unit that exists",
      { flags: ["--stop-timeout-ms=30sec"] },
      /^stop\.timeout\.ms: got "30sec" .* takes a time from 100ms to 1h/,
    ],
    [
      "a word that is not one of the choice",
      { flags: ["--visibility=all"] },
      /^visibility: got "all" .* takes written or durable$/,
    ],
    ["a list for a word", { file: "visibility = ['durable']" }, /^visibility: got \["durable"\] \(/],
    [
      "topics without a count",
      { flags: ["--topics=orders"] },
      /^topics: got "orders" .* takes name:partitions separated by commas/,
    ],
    ["a topic twice", { flags: ["--topics=a:1,a:2"] }, /^topics: got "a:1,a:2"/],
    ["no partitions", { flags: ["--topics=a:0"] }, /^topics: got "a:0"/],
    ["too many partitions", { flags: ["--topics=a:100000"] }, /^topics: got "a:100000"/],
    ["a flag three times", { flags: ["--port=1", "--port=2", "--port=3"] }, /^--port: given 3 times$/],
    [
      "a bad value of the file that a flag overrides",
      { file: "segment.mode = 'MMAP'", flags: ["--segment-mode=MAPPED"] },
      /^segment\.mode: got "MMAP" \(.*millrace\.toml\); takes MAPPED or FILE_CHANNEL$/,
    ],
    [
      "a bad value of the environment that a flag overrides",
      { environment: { MILLRACE_PORT: "many" }, flags: ["--port=0"] },
      /^port: got "many" \(environment MILLRACE_PORT\)/,
    ],
    [
      "a bad value of a topic that a list leaves out",
      { file: "[topics.a]\npartitions = 1\nvisibility = 'none'", flags: ["--topics=b:1"] },
      /^topics\.a\.visibility: got "none"/,
    ],
    [
      "a bad number of partitions that a list overrides",
      { file: "[topics.a]\npartitions = 0", flags: ["--topics=a:1"] },
      /^topics\.a\.partitions: got 0/,
    ],
    ["a flag twice", { flags: ["--port=1", "--port=2"] }, /^--port: given twice$/],
    ["a flag without its value", { flags: ["--port", "--host=::1"] }, /^--port: takes a value and got none$/],
    ["a word that is no flag", { flags: ["serve"] }, /^"serve": settings are given as --name value/],
    ["a file that is not TOML", { file: "port = = 1" }, /millrace\.toml:1:\d+: not TOML: /],
  ];
  for (const [what, written, problem] of refusals) {
    it(what, () => {
      const { problems } = problemsOf(written);
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(problem);
    });
  }

  it("a heading below which nothing is left is none of them", () => {
    expect(
      problemsOf({ file: "[data]\n[segment]\n[topics.a]\npartitions = 1\n[topics.a.retention]" }).problems,
    ).toEqual([]);
  });

  it("a file that is named and not there", () => {
    expect(resolve([fromFile("/nowhere/millrace.toml")]).problems).toEqual([
      expect.stringMatching(/^--config: cannot read \/nowhere\/millrace\.toml: ENOENT/),
    ]);
    expect(resolve([fromFile("")]).problems).toEqual(['--config: got ""; takes a file']);
  });

  it("all problems at once, so that one run shows what must be changed", () => {
    const { problems } = problemsOf({ flags: ["--port=x", "--hots=y"], environment: { MILLRACE_VISIBILITY: "z" } });
    expect(problems).toHaveLength(3);
  });

  it("variables of other programs and of the package's other commands are none of its business", () => {
    expect(problemsOf({ environment: { MILLRACE_BROKER: "x:1", MILLRACE_SEED: "1", PORT: "x" } }).problems).toEqual([]);
  });
});

describe("O01 contradictions", () => {
  const contradictions: readonly (readonly [what: string, written: Written, problem: RegExp])[] = [
    [
      "a fetch smaller than a request",
      { flags: ["--fetch-max-bytes=1MiB"] },
      /^fetch\.max\.bytes = 1MiB \(flag --fetch-max-bytes\) is below max\.frame\.bytes = 8MiB \(default\)/,
    ],
    [
      "a segment not larger than a request",
      { flags: ["--segment-bytes=8MiB"] },
      /^segment\.bytes = 8MiB \(flag --segment-bytes\) is not larger than max\.frame\.bytes = 8MiB/,
    ],
    [
      "the same for one topic",
      { file: "[topics.a]\npartitions = 1\nsegment.bytes = '1MiB'" },
      /^topics\.a\.segment\.bytes = 1MiB \(.*\[topics\.a\]\) is not larger/,
    ],
    [
      "no room to gather a request",
      { flags: ["--connection-queued-bytes-max=1MiB"] },
      /^connection\.queued\.bytes\.max = 1MiB .* is below max\.frame\.bytes/,
    ],
    [
      "a connection's bound above all connections'",
      { flags: ["--queued-bytes-max=15MiB"] },
      /^queued\.bytes\.max = 15MiB .* is below connection\.queued\.bytes\.max = 16MiB/,
    ],
    [
      "an index interval that leaves no index",
      { flags: ["--index-interval-bytes=128MiB"] },
      /^index\.interval\.bytes = 128MiB .* is not below segment\.bytes/,
    ],
    [
      "names that differ only by case",
      { flags: ["--topics=Orders:1,orders:1"] },
      /^topics: Orders and orders .* differ only by case/,
    ],
    [
      "names in tables that differ only by case",
      { file: "[topics.orders]\npartitions = 1\n[topics.Orders]\npartitions = 1\n" },
      /^topics: Orders \(\S+millrace\.toml \[topics\.Orders\]\) and orders \(\S+millrace\.toml \[topics\.orders\]\) differ only/,
    ],
    ["one port twice", { flags: ["--port=4711"] }, /^port = 4711 .* is also ops\.port = 4711/],
  ];
  for (const [what, written, problem] of contradictions) {
    it(what, () => {
      const { problems } = problemsOf(written);
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatch(problem);
    });
  }
});

describe("sizes and times", () => {
  it("take their units, and plain numbers as bytes and milliseconds", () => {
    const sizes = ["1048576", "1048576B", "1024KiB", "1 MiB", "1MiB"];
    for (const size of sizes)
      expect(settingsOf({ flags: [`--max-frame-bytes=${size}`] }).settings["max.frame.bytes"]).toBe(1_048_576);
    expect(settingsOf({ file: "max.frame.bytes = 1048576" }).settings["max.frame.bytes"]).toBe(1_048_576);
    const times = ["120000", "120000ms", "120s", "2m"];
    for (const time of times)
      expect(settingsOf({ flags: [`--stop-timeout-ms=${time}`] }).settings["stop.timeout.ms"]).toBe(120_000);
    expect(settingsOf({ flags: ["--retention-ms=7d"] }).settings["retention.ms"]).toBe(7 * 86_400_000);
  });
});

describe("startBroker's settings", () => {
  it("are the file's, nested or flat", () => {
    const nested = resolve([fromDocument({ data: { dir: "x" }, topics: { a: { partitions: 2 } } }, "startBroker")]);
    const flat = resolve([fromDocument({ "data.dir": "x", topics: "a:2" }, "startBroker")]);
    expect(nested.resolved?.settings["data.dir"]).toBe("x");
    expect(flat.resolved?.topics).toEqual(nested.resolved?.topics);
  });
});

describe("an address that cannot be had", () => {
  const told = (code: string) => {
    const { settings } = settingsOf({ flags: ["--ops-host=side.example", "--ops-port=80"] });
    return listenFailed(settings, "ops.port", Object.assign(new Error(`listen ${code}: …`), { code }));
  };

  it("of a port that only root may have says which ones others may", async () => {
    const where = "ops.host side.example, ops.port 80: cannot listen: listen EACCES: …";
    await expect(told("EACCES")).rejects.toThrow(`${where}; choose 1024 or above for ops.port, or give `);
  });

  it("of a name that cannot be looked up says what the setting takes", async () => {
    for (const code of ["ENOTFOUND", "EAI_AGAIN"]) {
      await expect(told(code)).rejects.toThrow(
        `${code}: …; ops.host takes a name that this machine can look up, or an address`,
      );
    }
  });
});

describe("descriptors", () => {
  it("the default number of connections gives way to the limit of open files, a number that was written does not", () => {
    expect(planDescriptors(20_000, 1, 10_000, false)).toEqual({ connections: 10_000, sealedFiles: 4096 });
    const small = planDescriptors(1024, 1, 10_000, false);
    expect(small.connections).toBeGreaterThan(500);
    expect(small.connections + small.sealedFiles).toBeLessThan(1024);
    expect(() => planDescriptors(1024, 1, 10_000, true)).toThrow(
      /connections\.max: got 10000, .* open files is 1024, of which 1 partition takes /,
    );
  });

  it("partitions that leave none for connections are what is told, and the limit that they take is enough", () => {
    for (const isWritten of [false, true]) {
      expect(() => planDescriptors(1024, 1000, 10_000, isWritten)).toThrow(
        /^topics: 1000 partitions take 5224 open files, and the limit is 1024, .*; takes a limit of at least 5225 /,
      );
    }
    expect(planDescriptors(5225, 1000, 10_000, false).connections).toBe(1);
  });
});
