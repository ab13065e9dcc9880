// Writes a result's pages. The one about all questions lies in docs/: figures.md with its pictures, figures.html, and the numbers that all
// of them are made from, so that anybody can make them again. Any other lies beside its JSON.

import { mkdir, readFile, rm } from "node:fs/promises";
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

/** Into docs/. Returns what it wrote, from the root. */
export async function publish(root: string, result: RunResult): Promise<string[]> {
  const docs = join(root, "docs");
  const folder = "figures";
  await rm(join(docs, folder), { recursive: true, force: true });
  await mkdir(join(docs, folder));
  const links = (section: SectionResult) =>
    picturesOf(section).map(({ kind, title }) => ({ path: `${folder}/${section.name}-${kind}.svg`, title }));
  for (const section of result.sections) {
    for (const { kind, svg } of picturesOf(section)) {
      await replace(join(docs, folder, `${section.name}-${kind}.svg`), svgFile(svg));
    }
  }
  await replace(join(docs, folder, "run.json"), `${JSON.stringify(result)}\n`);
  await replace(join(docs, "figures.md"), markdown(result, links));
  await writeHtml(root, join(docs, "figures.html"), result);
  return ["docs/figures.md", "docs/figures.html", `docs/${folder}/`];
}
