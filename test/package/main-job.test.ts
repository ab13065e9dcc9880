// The main job with the installed package, on each Node that is promised.

import { cpSync, existsSync, readFileSync } from "node:fs";
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
