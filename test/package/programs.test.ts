// What a program sees of the package: its declarations, for each TypeScript that is promised, and its modules, from CommonJS too.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { root } from "../rules/sources.js";
import { compilers, nodeMajors } from "./support/make-package.js";
import { need, type Project, projectWithMillrace } from "./support/project.js";

const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")];
const strictly = ["--strict", "--module", "nodenext", "--target", "es2022", ...types];

it.for(compilers)(
  "a program in TypeScript %s compiles against its declarations, strictly and without skipping any",
  async (version, context) => {
    const project = await projectWithMillrace(context);
    const tsc = [need(inject("compilers")[version], context), "--noEmit", ...strictly];
    const older = version === "5.0";
    const text = older ? PROGRAM.replaceAll("await using", "const") : PROGRAM;
    const lib = ["--lib", older ? "es2022" : "es2023,esnext.disposable"];
    writeFileSync(join(project.dir, "program.ts"), text);
    expect(await project.run([...tsc, ...lib, "program.ts"])).toEqual({ code: 0, stdout: "", stderr: "" });
    writeFileSync(join(project.dir, "program.ts"), text.replace('topics: "a:1"', 'topics: "a:1" }, ephemerall: { '));
    expect((await project.run([...tsc, ...lib, "program.ts"])).stdout).toContain("ephemerall");
  },
);

it.for(nodeMajors)("CommonJS asks for it on Node %s, written by hand or by TypeScript", async (major, context) => {
  const project = await projectWithMillrace(context, need(inject("nodes")[major], context));
  commonJs(project);
  const name = "millrace/client";
  const loads = `const { connect } = require("${name}"); const { openLog } = require("millrace");
    console.log(typeof connect, typeof openLog)`;
  expect(await project.run(["-e", loads])).toEqual({ code: 0, stdout: "function function\n", stderr: "" });
  writeFileSync(join(project.dir, "program.ts"), COMMONJS);
  for (const version of ["5.8", "newest"] as const) {
    const tsc = [need(inject("compilers")[version], context), ...strictly];
    expect(await project.run([...tsc, "program.ts"])).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(readFileSync(join(project.dir, "program.js"), "utf8")).toContain(`require("${name}")`);
    expect(await project.run(["program.js"])).toEqual({ code: 0, stdout: "one\n", stderr: "" });
  }
});

it("the examples run from where they are installed", async (context) => {
  const project = await projectWithMillrace(context);
  for (const name of ["outbox", "projection"]) {
    const path = join(project.installed, `examples/${name}.mjs`);
    expect(existsSync(path)).toBe(true);
    const { code, stderr } = await project.run([path]);
    expect(code, stderr).toBe(0);
  }
});

/** What `npm init` makes. */
function commonJs({ dir }: Project): void {
  const path = join(dir, "package.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), type: undefined }));
}

const PROGRAM = `
import { type Log, MillraceError, openLog, type RunningBroker, startBroker } from "millrace";
import { connect, Connection, Consumer, envelope, json, recordRegion } from "millrace/client";

await using broker: RunningBroker = await startBroker({ ephemeral: true, settings: { topics: "a:1" } });
const connection = await Connection.connect({ broker: broker.address });
const { baseOffset } = await connection.produce("a", 0, recordRegion(["one"]));
const consumer = await Consumer.open(connection, { topic: "a", partition: 0, from: baseOffset });
for (const record of await consumer.poll()) console.log(Buffer.from(record).toString());

const client = await connect({ broker: broker.address });
for await (const { records } of client.replay("a")) for (const record of records) console.log(record.length);
const { done, value } = await client.replay("a").records().next();
if (done !== true) console.log(value.offset + 1);

// What a call would refuse is refused here: an error that is not found is one.
// @ts-expect-error it finds out by the answers, and there are none
client.producer({ ack: "none", exclusive: true });
// @ts-expect-error JSON alone has no place for headers
await client.topic("a", { codec: json<number>() }).send(1, { headers: { trace: "1" } });
await client.topic("a", { codec: envelope(json<number>()) }).send(1, { headers: { trace: "1" }, key: "k", partition: 0 });
// @ts-expect-error there is no such setting
await startBroker({ settings: { "segment.byts": 4096 } });
await startBroker({ settings: { "segment.bytes": "1MiB", retention: { ms: "1d" }, topics: { a: { partitions: 1 } } } });

const log: Log = await openLog("./log");
try {
  const first: number = await log.append(new Uint8Array(1));
  console.log(first);
} catch (error) {
  if (error instanceof MillraceError && error.code === "STORAGE_FAILURE") throw error;
}
`;

const COMMONJS = `
import { startBroker } from "millrace";
import { connect } from "millrace/client";

async function main(): Promise<void> {
  const broker = await startBroker({ ephemeral: true, settings: { topics: "a:1" } });
  const client = await connect({ broker: broker.address });
  await client.producer().send("a", "one");
  for await (const { payload } of client.replay("a").records()) console.log(Buffer.from(payload).toString());
  await client.close();
  await broker.stop();
}
void main();
`;
