// Finds the compiled addon: a prebuilt binary of the package, or what `npm run build` left in build/.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { MillraceError } from "../model/errors.js";
import type { NativeAddon } from "./binding.js";

/** The directory of this package: the first one upwards whose package.json names it. The same from src/ and from dist/. */
export function packageRoot(from: string = fileURLToPath(import.meta.url)): string {
  for (let dir = dirname(from); ; dir = dirname(dir)) {
    const manifest = join(dir, "package.json");
    if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).name === "millrace") return dir;
    if (dir === dirname(dir)) {
      throw new MillraceError("ADDON_UNAVAILABLE", `no package.json of millrace above ${from}`);
    }
  }
}

export function loadAddon(): NativeAddon {
  const root = packageRoot();
  const require = createRequire(import.meta.url);
  try {
    const find = require("node-gyp-build") as (dir: string) => NativeAddon;
    return find(root);
  } catch (cause) {
    const platform = `${process.platform}-${process.arch}`;
    if (process.platform !== "linux" && process.platform !== "darwin") {
      throw new MillraceError("ADDON_UNAVAILABLE", `millrace runs on Linux and macOS; ${platform} is not supported`, {
        cause,
      });
    }
    throw new MillraceError(
      "ADDON_UNAVAILABLE",
      `no compiled addon for ${platform} (Node ABI ${process.versions.modules}): looked in ${root}/build/Release and ` +
        `${root}/prebuilds/${platform}. Build it with: npm run build (in ${root}; needs a C++ compiler and Python)`,
      { cause },
    );
  }
}
