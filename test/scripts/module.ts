// The scripts are plain JavaScript; tests say what they expect of one by a type.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../rules/sources.js";

export const scriptPath = (name: string): string => join(root, "scripts", name);

export async function importScript<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(scriptPath(name)).href)) as Module;
}
