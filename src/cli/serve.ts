// `millrace serve`: the broker, the same as `node dist/broker.js`. Its flags are the broker's and are not read here.

import type { Command } from "commander";

export function serveCommand(
  program: Command,
  finish: (code: number) => void,
  env: Readonly<Record<string, string | undefined>>,
): void {
  program
    .command("serve")
    .summary("run a broker")
    .description("Run a broker, as `node dist/broker.js` does. `millrace serve --help` lists its settings.")
    .argument("[settings...]")
    .allowUnknownOption()
    .passThroughOptions()
    // Its own --help lists all settings.
    .helpOption(false)
    .action(async (settings: readonly string[]) => {
      // Only here: the other verbs need neither the addon nor the time to load it.
      const { serve } = await import("../ops/serve.js");
      finish(await serve(settings, env));
    });
}
