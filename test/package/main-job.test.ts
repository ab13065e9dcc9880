// The main job with the installed package, on each Node that is promised, and its types as a program sees them.

import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { root } from "../rules/sources.js";
import { nodeMajors } from "./support/make-package.js";
import { need, projectWithMillrace } from "./support/project.js";

it("package.json promises the oldest Node that is tried", () => {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(engines.node).toBe(`>=${nodeMajors[0]}`);
});

it.for(nodeMajors)(
  "does the main job on Node %s, without a compiler and Python, in a folder with a space",
  async (major, context) => {
    const project = await projectWithMillrace(context, need(inject("nodes")[major], context));
    expect((await project.run(["--version"])).stdout).toMatch(new RegExp(`^v${major}\\.`));
    cpSync(join(root, "test/package/job"), project.dir, { recursive: true });
    const { code, stdout, stderr } = await project.run(["job.mjs"], { JOB_DIR: project.dir });
    expect(code, stderr).toBe(0);
    expect(stdout.match(/^done: /gm)).toHaveLength(4);
    expect(existsSync(join(project.installed, "build"))).toBe(false);
  },
);

it("a program in TypeScript compiles against its declarations, strictly and without skipping any", async (context) => {
  const project = await projectWithMillrace(context);
  writeFileSync(join(project.dir, "program.ts"), program);
  const types = join(root, "node_modules/@types");
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--lib",
    "es2023,esnext.disposable",
  ];
  const tsc = [join(root, "node_modules/typescript/bin/tsc"), ...options, "--types", "node", "--typeRoots", types];
  expect(await project.run([...tsc, "program.ts"])).toEqual({ code: 0, stdout: "", stderr: "" });
  writeFileSync(join(project.dir, "program.ts"), program.replace('topics: "a:1"', 'topics: "a:1" }, ephemerall: { '));
  expect((await project.run([...tsc, "program.ts"])).stdout).toContain("ephemerall");
});

const program = `
import { type Log, MillraceError, openLog, type RunningBroker, startBroker } from "millrace";
import { Connection, Consumer, recordRegion } from "millrace/client";

await using broker: RunningBroker = await startBroker({ ephemeral: true, settings: { topics: "a:1" } });
const connection = await Connection.connect({ broker: broker.address });
const { baseOffset } = await connection.produce("a", 0, recordRegion(["one"]));
const consumer = await Consumer.open(connection, { topic: "a", partition: 0, from: baseOffset });
for (const record of await consumer.poll()) console.log(Buffer.from(record).toString());

const log: Log = await openLog("./log");
try {
  const first: number = await log.append(new Uint8Array(1));
  console.log(first);
} catch (error) {
  if (error instanceof MillraceError && error.code === "STORAGE_FAILURE") throw error;
}
`;
