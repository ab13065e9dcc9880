// Objects of the addon in all their states, which callers get wrong on purpose. Some are replaced all the time, so that none stays ended for ever.

import type {
  DirectoryLock,
  NativeAddon,
  NativeFile,
  NativeSegmentWriter,
  NativeSelector,
  SelectorOptions,
} from "../../../src/native/binding.js";
import type { Random } from "../../lib/random.js";
import {
  append,
  fileMethods,
  lockMethods,
  type Methods,
  selectorMethods,
  selectorOptionsOf,
  writerMethods,
  writerOptions,
} from "./surface.js";

export type Subject =
  | { readonly type: "file"; readonly object: NativeFile; readonly isMapped: boolean }
  | { readonly type: "writer"; readonly object: NativeSegmentWriter }
  | { readonly type: "lock"; readonly object: DirectoryLock }
  | { readonly type: "selector"; readonly object: NativeSelector; readonly options: SelectorOptions };

export const methodsOf: Readonly<Record<Subject["type"], Methods>> = {
  file: fileMethods,
  writer: writerMethods,
  lock: lockMethods,
  selector: selectorMethods,
};

const SUBJECTS = 16;

export class Subjects {
  all: Subject[] = [];
  #made = 0;

  constructor(
    readonly native: NativeAddon,
    readonly directory: string,
    readonly random: Random,
  ) {}

  async fill(): Promise<void> {
    while (this.all.length < SUBJECTS) this.all.push(...(await this.#make()));
  }

  /** Lets go of some: of most by nothing but forgetting them. */
  async replaceSome(): Promise<void> {
    const { random } = this;
    const [gone, kept] = [[] as Subject[], [] as Subject[]];
    for (const subject of this.all) (random.chance(0.3) ? gone : kept).push(subject);
    for (const subject of gone) {
      // A selector that listens lives until it is told.
      if (subject.type === "selector") subject.object.destroy();
      else if (subject.type === "file" && random.chance(0.5)) void subject.object.close();
    }
    this.all = kept;
    await this.fill();
  }

  end(): void {
    for (const subject of this.all) {
      if (subject.type === "selector") subject.object.destroy();
      if (subject.type === "file") void subject.object.close();
      if (subject.type === "lock") subject.object.release();
    }
    this.all = [];
  }

  async #make(): Promise<Subject[]> {
    const { native, random } = this;
    const name = `subject-${this.#made++}`;
    switch (random.pick(["writer", "lock", "selector"] as const)) {
      case "lock":
        return [{ type: "lock", object: native.lockFile(`${this.directory}/${name}.lock`) }];
      case "selector": {
        const options = selectorOptionsOf(random);
        const object = new native.Selector(options, () => undefined);
        if (random.chance(0.7)) object.listen("127.0.0.1", 0);
        return [{ type: "selector", object, options }];
      }
      case "writer": {
        const mode = random.pick([0, 1] as const);
        const writer = await native.createSegmentWriter(writerOptions(this.directory, `${name}.log`, mode));
        append(native, writer);
        const isMapped = random.chance(0.5);
        const file = await native.openFile(`${this.directory}/${name}.file`, { writable: true, create: true });
        return [
          { type: "writer", object: writer },
          { type: "file", isMapped, object: isMapped ? writer.file : file },
        ];
      }
    }
  }
}
