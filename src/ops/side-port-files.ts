// The console's files, as the build left them in dist/console/: its page, and assets whose names change with their contents. It
// serves what lies there and nothing else: names are looked up in a list that was made from the directory, not joined to it.

import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Reply } from "./side-port-answer.js";
import type { Route } from "./side-port-routes.js";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
};

/** `index-4f9a1c2b.js`: another content would have another name, so a browser need never ask again. */
const HASHED = /-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/;

const PAGE = "index.html";

export class ConsoleFiles {
  private names: Promise<ReadonlySet<string>> | undefined;

  constructor(private readonly directory: string) {}

  async answer(path: string): Promise<Reply> {
    const name = path === "" ? PAGE : path;
    this.names ??= listed(this.directory);
    const names = await this.names;
    if (!names.has(PAGE)) {
      // Somebody may build it while the broker runs.
      this.names = undefined;
      if (path === "") return notBuilt;
    }
    const type = TYPES[extname(name)];
    if (!names.has(name) || type === undefined) return { ...notThere, body: `there is no ${name} here\n` };
    try {
      const body = await readFile(join(this.directory, name));
      const caching = HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache";
      return { status: 200, type, body, headers: { "cache-control": caching } };
    } catch {
      // Built anew since: its names are others now.
      this.names = undefined;
      return { ...notThere, body: `${name} is not there any more; load the page again\n` };
    }
  }
}

/** Everything that no other route has. */
export const consoleRoute = (files: ConsoleFiles): Route => ({
  pattern: "/*",
  answer: ({ parts: [path = ""] }) => files.answer(path),
});

/** Names relative to the directory; none when it is not there. */
async function listed(directory: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(directory, { recursive: true }).catch(() => []));
}

const notThere = { status: 404, type: "text/plain; charset=utf-8" } as const;

const notBuilt: Reply = {
  status: 404,
  type: "text/html; charset=utf-8",
  body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>millrace</title>
<h1>The console was not built</h1>
<p>The broker runs; this copy of it came without the console's files. In a checkout, <code>npm run build</code> makes them.</p>
<ul>
<li><a href="/metrics">/metrics</a>: for Prometheus</li>
<li><a href="/readyz">/readyz</a>, <a href="/healthz">/healthz</a>: health</li>
<li><a href="/api/broker">/api/broker</a>, <a href="/api/topics">/api/topics</a>, <a href="/api/rates">/api/rates</a>: JSON</li>
</ul>
</html>
`,
};
