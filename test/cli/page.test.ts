// docs/cli.md is made of what --help says. `npx vitest run test/cli/page.test.ts -u` writes it anew.

import { join } from "node:path";
import { expect, it } from "vitest";
import { packageRoot } from "../../src/native/load.js";
import { millrace } from "../support/cli.js";

const INTRODUCTION = `# The command millrace

\`npx millrace\` where the package is installed, \`node dist/cli.js\` in a checkout. This page is what \`--help\` says.

Verbs that talk to a broker find it by \`--broker\`, MILLRACE_BROKER, or at 127.0.0.1:4710. Sizes take \`KiB\`, \`MiB\`, \`GiB\`, times \`ms\`,
\`s\`, \`m\`, \`h\`, \`d\`. \`--json\` prints a JSON value a line. A closed pipe ends a verb quietly. Progress is shown when stderr is a terminal
and the data goes elsewhere; NO_COLOR is heeded.

| exit code | |
|---|---|
| 0 | done |
| 1 | failed; the message says what, and what to do about it when there is something |
| 2 | wrong usage |
| 130, 143 | stopped by ^C or SIGTERM, in order; by a second one at once |

\`millrace serve\` is the broker, with [its settings](settings.md) as flags and its own exit codes.
`;

it("the page of the command line says what --help says", async () => {
  const help = async (...args: string[]): Promise<string> => {
    const { code, stdout } = await millrace([...args, "--help"]);
    expect([args, code]).toEqual([args, 0]);
    return `\`\`\`\n${stdout.trim()}\n\`\`\`\n`;
  };
  const program = await help();
  const [, list = ""] = /\nCommands:\n([\s\S]*?)\n\n/.exec(program) ?? [];
  const verbs = list.split("\n").map((line) => line.trim().split(" ", 1)[0] ?? "");
  expect(verbs).toContain("produce");
  const sections = [INTRODUCTION, program];
  for (const verb of verbs) {
    if (verb === "serve" || verb === "help") continue;
    sections.push(`## ${verb}\n`, await help(verb));
  }
  await expect(sections.join("\n")).toMatchFileSnapshot(join(packageRoot(), "docs/cli.md"));
});
