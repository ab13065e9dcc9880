// The product that a rung breaks: always by its build, never by its sources, so that the mutation rung can put another build in its place.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Product } from "./rung.js";

/** What a checkout (or a mutated copy of one) has built. */
export function productOf(root: string): Product {
  return { dist: join(root, "dist"), addon: join(root, "build", "Release", "millrace.node") };
}

type Package = typeof import("../../src/index.js");

const loaded = new Map<string, Promise<Package>>();

/** The product's package, as a program that depends on it gets it: `openLog`, `connect`, … */
export function loadPackage({ dist }: Product): Promise<Package> {
  const path = join(dist, "index.js");
  let there = loaded.get(path);
  if (there === undefined) {
    there = import(pathToFileURL(path).href) as Promise<Package>;
    loaded.set(path, there);
  }
  return there;
}
