// packaging/Containerfile: no engine here builds it, so its instructions are read and carried out in a machine of its own, whose files are
// this system's instead of the base image's.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../rules/sources.js";
import { onMachine } from "./support/machine.js";

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** Lines that end in a backslash go on in the next one; lines that begin with # are comments. */
function instructions(text: string): Instruction[] {
  const lines = text
    .replace(/^#.*\n/gm, "")
    .replaceAll(/\\\n/g, " ")
    .split("\n");
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      if (name === "") throw new Error(`no instruction: ${line}`);
      return { name, rest: rest.trim() };
    });
}

const file = instructions(readFileSync(join(root, "packaging/Containerfile"), "utf8"));
const all = (name: string): string[] => file.filter((each) => each.name === name).map(({ rest }) => rest);
const only = (name: string): string => {
  const [rest, ...more] = all(name);
  if (rest === undefined || more.length > 0) throw new Error(`${name} stands there ${all(name).length} times`);
  return rest;
};
const words = (json: string): string => (JSON.parse(json) as string[]).join(" ");
const check = /^(.*) CMD (\[.*\])$/.exec(only("HEALTHCHECK")) ?? [];

/** As an engine would do it, in order. The user exists in the base image. */
const build = file
  .map(({ name, rest }) => {
    if (name === "COPY") return rest.replace(/^(\S+) (\S+)$/, "cp /stuff/$1 $2");
    if (name === "RUN") return `( ${rest} ) >&2`;
    if (name === "ENV") return `export ${rest}`;
    if (name === "WORKDIR") return `mkdir -p ${rest} && cd ${rest}`;
    return `: ${name}`;
  })
  .join("\n");

const run = `set -e
id node >/dev/null 2>&1 || useradd --create-home node
${build}
as() { setpriv --reuid node --regid node --clear-groups "$@"; }
as ${words(only("ENTRYPOINT"))} >/tmp/ready 2>/tmp/log &
until grep -q 'millrace ready' /tmp/ready; do kill -0 $! || { cat /tmp/log >&2; exit 1; }; sleep 0.1; done
grep -o 'host=[^ ]* port=[^ ]* ops=[^ ]*' /tmp/ready
as ${words(check[2] ?? "[]")} | grep -o '^ok'
ls -d ${only("VOLUME")}/default-0
kill -s ${only("STOPSIGNAL").replace("SIG", "")} "$(pgrep -n node)"
wait $!; echo "ended $?"
as ${words(check[2] ?? "[]")} 2>/dev/null || echo "unhealthy $?"
`;

it("names a base image with its registry, and a Node that is promised", () => {
  expect(only("FROM")).toMatch(/^docker\.io\/library\/node:(20|22|24)-[\w-]+$/);
});

it("asks for health by the broker's protocol, within the time that the check has", () => {
  expect(words(check[2] ?? "[]")).toBe("millrace health --timeout 5s");
  const seconds = (option: string): number => Number(new RegExp(`--${option}=(\\d+)s`).exec(check[1] ?? "")?.[1]);
  expect(seconds("timeout")).toBeGreaterThan(5);
  expect(seconds("interval")).toBeGreaterThan(seconds("timeout"));
});

it("exposes the ports of the defaults", () => {
  const settings = readFileSync(join(root, "docs/settings.md"), "utf8");
  const ports = ["port", "ops.port"].map((key) => new RegExp(`\\| \`${key}\` \\| \`(\\d+)\``).exec(settings)?.[1]);
  expect(only("EXPOSE").split(" ")).toEqual(ports);
});

it("its instructions install a broker that serves as the user node, is healthy, and stops cleanly", async (context) => {
  const printed = await onMachine("run", { "run.sh": run }, context);
  expect(printed.trim().split("\n")).toEqual([
    "host=0.0.0.0 port=4710 ops=4711",
    "ok",
    "/var/lib/millrace/default-0",
    "ended 0",
    "unhealthy 1",
  ]);
});
