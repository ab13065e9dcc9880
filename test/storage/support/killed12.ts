// The partition that many starts are tried on.

import { tempDir } from "../../support/tmp.js";
import { crashCopy } from "./crash.js";
import { open, type TestOptions } from "./opened.js";
import { payload } from "./records.js";

/** Three segments with 4 records of 100 bytes each, forced or not, and the directory as a kill would leave it. */
export async function killedWith12(options: TestOptions & { readonly forced?: number }): Promise<string> {
  const { forced = 0, ...rest } = options;
  const dir = tempDir();
  const opened = await open(dir, { segmentBytes: 450, ...rest });
  for (let number = 0; number < 12; number++) {
    await opened.append(payload(number, 100));
    if (number + 1 === forced) {
      await opened.log.force();
      await opened.log.settled();
      opened.clock.ms += 5000;
      await opened.log.upkeep();
    }
  }
  await opened.log.settled();
  const copy = crashCopy(dir);
  await opened.close();
  return copy;
}
