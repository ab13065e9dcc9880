// packaging/millrace.service: verified by systemd's own tools, and run by a systemd in a machine of its own: started as the documents say,
// killed, stopped, and started with wrong settings.

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { root } from "../rules/sources.js";
import { tempDir } from "../support/tmp.js";
import { onMachine } from "./support/machine.js";

const unit = readFileSync(join(root, "packaging/millrace.service"), "utf8");
const docs = readFileSync(join(root, "docs/installing.md"), "utf8");

/** The unit in a file of its own, with a program that is there. */
function unitFile({ skip }: TestContext): string {
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0) skip("there is no systemd-analyze");
  const file = join(tempDir("unit"), "millrace.service");
  writeFileSync(file, unit.replace("ExecStart=millrace", "ExecStart=/bin/true"));
  return file;
}

it("systemd finds nothing to say about the unit", (context) => {
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", unitFile(context)], { encoding: "utf8" });
  expect(stdout + stderr).toBe("");
  expect(status).toBe(0);
});

it("the service is exposed to little, by systemd's own measure", (context) => {
  const args = ["security", "--offline=true", "--threshold=20", "--no-pager", unitFile(context)];
  expect(spawnSync("systemd-analyze", args, { encoding: "utf8" }).status).toBe(0);
});

it("a stop has more time than the broker takes for one by default", () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  const byDefault = Number(
    /\| `stop\.timeout\.ms` \| `(\d+)s` \|/.exec(readFileSync(join(root, "docs/settings.md"), "utf8"))?.[1],
  );
  expect(seconds).toBeGreaterThan(byDefault);
});

/** The commands of the documents, with the packed file for the package of that name and one start instead of one at each boot. */
const install = /## As a service.*?```sh\n(.*?)```/s
  .exec(docs)?.[1]
  ?.replace("--global millrace", "--global --offline --ignore-scripts /stuff/millrace-*.tgz")
  .replace(/systemctl daemon-reload\n/, "")
  .replace("systemctl enable --now millrace\n", "");

const run = `
export MILLRACE_BROKER=/run/millrace/broker.sock
fact() { systemctl show millrace --value --property "$1"; }
systemctl start millrace; echo "start $?"
printf 'one\\ntwo\\n' | millrace produce default && echo produced
pid=$(fact MainPID)
echo "privileges $(sed -n 's/^CapEff:\\s*//p; s/^NoNewPrivs:\\s*//p; s/^Seccomp:\\s*//p' "/proc/$pid/status" | tr '\\n' ' ')"
[ "$(sed -n 's/^Uid:\\s*\\([0-9]*\\).*/\\1/p' "/proc/$pid/status")" != 0 ] && echo "not root"
kill -9 "$pid"
until [ "$(fact NRestarts) $(fact ActiveState)" = "1 active" ]; do sleep 0.1; done
echo "restarts $(fact NRestarts)"
millrace consume default --from earliest --until-end
systemctl stop millrace; echo "stop $? $(fact Result) $(fact ExecMainStatus)"
echo 'port = "nonsense"' >/etc/millrace/millrace.toml
systemctl start millrace 2>/dev/null; echo "start $?"
sleep 2.5
echo "$(fact ActiveState) $(fact NRestarts) $(fact ExecMainStatus)"
`;

it("O03: systemd runs it as nobody, starts it again after a kill, stops it cleanly, and leaves wrong settings alone", async (context) => {
  expect(install).toContain("npm install");
  const printed = await onMachine("services", { "prepare.sh": `set -e\n${install}`, "run.sh": run }, context);
  expect(printed.trim().split("\n")).toEqual([
    "start 0",
    "produced",
    "privileges 0000000000000000 1 2 ",
    "not root",
    "restarts 1",
    "one",
    "two",
    "stop 0 success 0",
    "start 1",
    "failed 0 2",
  ]);
});

it("the commands of the documents are a shell's", () => {
  for (const [, block = ""] of docs.matchAll(/```sh\n(.*?)```/gs)) execFileSync("sh", ["-n"], { input: block });
});
