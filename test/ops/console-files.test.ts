// The console's files: the right types, cached as long as their names say, and nothing from outside of their directory.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConsoleFiles } from "../../src/ops/side-port-files.js";
import { tempDir } from "../support/tmp.js";

function built(): string {
  const directory = join(tempDir("console"), "console");
  mkdirSync(join(directory, "assets"), { recursive: true });
  writeFileSync(join(directory, "index.html"), "<!doctype html>");
  writeFileSync(join(directory, "assets", "index-4f9a1c2b.js"), "1");
  writeFileSync(join(directory, "assets", "index-4f9a1c2b.css"), "a{}");
  writeFileSync(join(directory, "favicon.svg"), "<svg/>");
  writeFileSync(join(directory, "notes"), "no type");
  writeFileSync(join(directory, "..", "secret.js"), "outside");
  return directory;
}

describe("the console's files", () => {
  it("are served with their types, and cached when their names change with their contents", async () => {
    const files = new ConsoleFiles(built());
    const facts = async (path: string) => {
      const { status, type, headers, body } = await files.answer(path);
      return [status, type, headers?.["cache-control"], String(body)];
    };
    const forEver = "public, max-age=31536000, immutable";
    expect(await facts("")).toEqual([200, "text/html; charset=utf-8", "no-cache", "<!doctype html>"]);
    expect(await facts("index.html")).toEqual([200, "text/html; charset=utf-8", "no-cache", "<!doctype html>"]);
    expect(await facts("assets/index-4f9a1c2b.js")).toEqual([200, "text/javascript; charset=utf-8", forEver, "1"]);
    expect(await facts("assets/index-4f9a1c2b.css")).toEqual([200, "text/css; charset=utf-8", forEver, "a{}"]);
    expect(await facts("favicon.svg")).toEqual([200, "image/svg+xml", "no-cache", "<svg/>"]);
  });

  it.each(["../secret.js", "assets/../../secret.js", "/etc/passwd", "assets", "notes", "other.js", "INDEX.HTML", "."])(
    "has no %s",
    async (path) => {
      const { status, type } = await new ConsoleFiles(built()).answer(path);
      expect([status, type]).toEqual([404, "text/plain; charset=utf-8"]);
    },
  );

  it("says so when they were not built, and finds them once they are", async () => {
    const directory = join(tempDir("console"), "console");
    const files = new ConsoleFiles(directory);
    const { status, type, body } = await files.answer("");
    expect([status, type]).toEqual([404, "text/html; charset=utf-8"]);
    expect(body).toContain("The console was not built");
    expect((await files.answer("app.js")).status).toBe(404);
    mkdirSync(directory);
    writeFileSync(join(directory, "index.html"), "there");
    expect((await files.answer("")).status).toBe(200);
  });
});
