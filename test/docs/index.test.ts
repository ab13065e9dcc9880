// docs/README.md leads to every document, and the README to the index. Links within a page and to a heading of another lead somewhere.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../rules/sources.js";

const read = (page: string): string => readFileSync(join(root, page), "utf8");
const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));

it("the index has every document", () => {
  const index = read("docs/README.md");
  const missing = pages.filter((name) => name !== "README.md" && !index.includes(`](${name})`));
  expect(missing).toEqual([]);
  expect(read("README.md")).toContain("](docs/README.md)");
});

/** As a reader of Markdown makes it of a heading. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");

const anchors = (text: string): string[] =>
  [...text.matchAll(/^#{1,4} (.+)$/gm)].map(([, heading = ""]) => anchor(heading));

it("links to headings lead to one", () => {
  let seen = 0;
  for (const name of pages) {
    for (const [link, page = "", heading = ""] of read(`docs/${name}`).matchAll(/\]\(([\w.-]*\.md|)#([^)]+)\)/g)) {
      seen++;
      expect([name, link, anchors(read(`docs/${page === "" ? name : page}`)).includes(heading)]).toEqual([
        name,
        link,
        true,
      ]);
    }
  }
  expect(seen).toBeGreaterThan(10);
});
