// The repository as a whole: documents that are right about it, nothing in it that belongs to one machine.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { drawnPaths, localLinks, lockedAddresses, privatePaths, unpinned } from "./repository-rules.js";
import { repositoryFiles, root } from "./sources.js";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json"));
const files = repositoryFiles().filter((path) => existsSync(join(root, path)));
const documents = files.filter((path) => path.endsWith(".md"));

describe("the repository", () => {
  it("has the layout that its documents draw, and every folder of src/ is drawn", () => {
    const drawn = drawnPaths(read("docs/contributing.md"), "Where things are");
    expect(drawn.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const folders = new Set(files.flatMap((path) => /^src\/\w+\//.exec(path) ?? []));
    expect([...folders].filter((folder) => !drawn.includes(folder))).toEqual([]);
  });

  it("has no link in a document that leads nowhere", () => {
    const dead = documents.flatMap((path) =>
      localLinks(read(path))
        .filter((target) => !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it("names in its documents only scripts that exist", () => {
    const named = documents.flatMap((path) =>
      [...read(path).matchAll(/npm run ([\w:-]+)/g)].map(([, name = ""]) => name),
    );
    expect(named.filter((name) => manifest.scripts[name] === undefined)).toEqual([]);
  });

  it("has no path that exists on one machine only", () => {
    const text = files.filter((path) => !/\.(png|gz|node|bin)$/.test(path));
    expect(text.flatMap((path) => privatePaths({ path, text: read(path) }))).toEqual([]);
  });

  it("installs from whatever registry the user has: package-lock.json names no address", () => {
    expect(lockedAddresses({ path: "package-lock.json", text: read("package-lock.json") })).toEqual([]);
  });

  it("pins the tools whose findings change with their version", () => {
    expect(unpinned(manifest, ["@biomejs/biome", "typescript", "vitest"])).toEqual([]);
  });

  it("asks of a compiler no more than GCC 8 has, the oldest that docs/installing.md names", () => {
    expect(read("docs/installing.md")).toContain("C++17 compiler (GCC 8,");
    // These came with GCC 10.
    const newer = /_mm(256|512)_zext\w+/g;
    const sources = files.filter((path) => /^native\/.*\.(cc|h|inc)$/.test(path));
    expect(sources.flatMap((path) => [...read(path).matchAll(newer)].map(([name]) => `${path}: ${name}`))).toEqual([]);
  });

  it("never lets npm compile the addon by itself, which would fetch headers", () => {
    expect(manifest.gypfile).toBe(false);
    expect(manifest.scripts.install).toBeUndefined();
  });
});

describe("the rules about the repository themselves", () => {
  it("read a drawn layout", () => {
    const drawn = drawnPaths(
      "# A\n\n## Tree\n\ntext\n\n```\nsrc/\n  log/   the log\n  main.ts\ndocs/  pages\n```\n",
      "Tree",
    );
    expect(drawn).toEqual(["src/", "src/log/", "src/main.ts", "docs/"]);
    expect(() => drawnPaths("# A\n", "Tree")).toThrow("no drawn layout");
  });

  it("see local links alone", () => {
    expect(localLinks("[a](docs/a.md#b) [c](https://d) [e](#f) [g](../h.ts)")).toEqual(["docs/a.md", "../h.ts"]);
  });

  it.each([`see /${"home"}/ann/x`, `/${"Users"}/Ann/x`, `in /${"work"}/x`, `https://registry.${"npmjs"}.org`])(
    "catch %s",
    (text) => {
      expect(privatePaths({ path: "a.md", text })).toHaveLength(1);
    },
  );

  it("let a path of everybody's machine through", () => {
    expect(privatePaths({ path: "a.md", text: "/tmp/x, /usr/include/node, ./network/x, ~/work" })).toEqual([]);
  });

  it("catch an address in the lock file", () => {
    const packages = { "": {}, a: { version: "1.0.0", resolved: "https://registry.example/a.tgz" } };
    expect(lockedAddresses({ path: "l", text: JSON.stringify({ packages }) })).toHaveLength(1);
  });

  it("catch a range", () => {
    expect(unpinned({ devDependencies: { a: "^1.0.0", b: "1.0.0" } }, ["a", "b"])).toEqual(["a is not pinned"]);
  });
});
