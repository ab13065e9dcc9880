// Writes a result's pages. The one about all questions lies in docs/: figures.md with its pictures, figures.html, and the numbers that all
// of them are made from, so that anybody can make them again. Any other lies beside its JSON.

import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { markdown, type RunResult, type SectionResult } from "../lib/report.js";
import { replace } from "../lib/results.js";
import { html, type PageAssets } from "./html.js";
import { picturesOf } from "./pictures.js";
import { svgFile } from "./svg.js";

/** Built by bench.mjs. */
async function assets(root: string): Promise<PageAssets> {
  const built = join(root, ".cache", "bench", "page");
  const [style, script] = await Promise.all([
    readFile(join(built, "page.css"), "utf8"),
    readFile(join(built, "page.js"), "utf8"),
  ]);
  return { style, script };
}

export async function writeHtml(root: string, path: string, result: RunResult): Promise<void> {
  await replace(path, html(result, await assets(root)));
}

/** Questions of `names` that a result has no section about: a page without them must not take the place of one with all. */
export const missingFrom = ({ sections }: Pick<RunResult, "sections">, names: readonly string[]): string[] =>
  names.filter((name) => !sections.some((section) => section.name === name));

/** Into docs/. Returns what it wrote, from the root. All is made before anything of the old pages is touched. */
export async function publish(root: string, result: RunResult): Promise<string[]> {
  const docs = join(root, "docs");
  const folder = "figures";
  const pictures = new Map(result.sections.map((section) => [section.name, picturesOf(section)]));
  const fileOf = (name: string, kind: string): string => `${name}-${kind}.svg`;
  const links = ({ name }: SectionResult) =>
    (pictures.get(name) ?? []).map(({ kind, title }) => ({ path: `${folder}/${fileOf(name, kind)}`, title }));
  const files = new Map([
    ...[...pictures].flatMap(([name, made]) =>
      made.map(({ kind, svg }): [string, string] => [fileOf(name, kind), svgFile(svg)]),
    ),
    ["run.json", `${JSON.stringify(result)}\n`],
  ]);
  const [page, htmlPage] = [markdown(result, links), html(result, await assets(root))];
  await mkdir(join(docs, folder), { recursive: true });
  for (const [name, text] of files) await replace(join(docs, folder, name), text);
  for (const name of await readdir(join(docs, folder))) {
    if (!files.has(name)) await rm(join(docs, folder, name), { recursive: true });
  }
  await replace(join(docs, "figures.md"), page);
  await replace(join(docs, "figures.html"), htmlPage);
  return ["docs/figures.md", "docs/figures.html", `docs/${folder}/`];
}
