// Calls everything that the addon exports with arguments of every type, in every state, in every wrong way that a seed thinks of. One argument of a
// wrong type is a TypeError and nothing else; what is all wrong may be any error. It must never crash, never forget a promise, and work in the end.

import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { NativeAddon } from "../../../../src/native/binding.js";
import { Random } from "../../../lib/random.js";
import { descriptors, eventually, settled } from "../environment.js";
import { detached, hostileValues, isOfKind, strikingArray, strikingOptions, Trapped } from "../hostile.js";
import { type Job, jobOf, loadAddon, Notes, tell } from "../job.js";
import { methodsOf, type Subject, Subjects } from "../subjects.js";
import {
  type Argument,
  append,
  fileGetters,
  functions,
  holds,
  selectorArguments,
  writerGetters,
  writerOptions,
} from "../surface.js";

const STEPS_AT_ONCE = 1000;
/** A promise that is not settled by then is forgotten. */
const FORGOTTEN_MS = 60_000;

interface Target {
  readonly name: string;
  readonly self: unknown;
  readonly call: (self: unknown, args: readonly unknown[]) => unknown;
  readonly takes: readonly Argument[];
  /** Calls of those who come late are without effect, also wrong ones. */
  readonly lenient: boolean;
}

class Caller {
  readonly notes = new Notes();
  readonly #promises: Promise<unknown>[] = [];
  readonly #last: number;
  #number = 0;

  constructor(
    readonly native: NativeAddon,
    readonly subjects: Subjects,
    readonly random: Random,
    directory: string,
  ) {
    this.#last = openSync(join(directory, "last-call"), "w");
  }

  step() {
    const { random } = this;
    const manner = random.pick([
      "one wrong",
      "one wrong",
      "all wrong",
      "right",
      "wrong this",
      "strike",
      "get",
      "row",
    ] as const);
    this.notes.count(`calls, ${manner}`);
    if (manner === "get") return this.#get();
    if (manner === "row") return this.#appendRow();
    const target = this.#target();
    const right = target.takes.map(({ right }) => right(random));
    switch (manner) {
      case "right":
        return this.#try(manner, target, right);
      case "all wrong": {
        const args = Array.from({ length: random.int(0, 9) }, () => this.#hostile());
        return this.#try(manner, target, args);
      }
      case "wrong this":
        return this.#try(manner, { ...target, self: this.#hostile() }, right);
      case "strike":
        return random.chance(0.3) ? this.#strikeAppend() : this.#strike(target, right);
      case "one wrong":
        return this.#oneWrong(target, right);
    }
  }

  /** Settles what was promised. */
  async settle(): Promise<void> {
    const promises = this.#promises.splice(0);
    this.notes.count("promises settled", promises.length);
    await settled(Promise.all(promises), FORGOTTEN_MS, () =>
      this.notes.add(`a promise was forgotten after ${this.#number} calls`),
    );
  }

  close(): void {
    closeSync(this.#last);
  }

  #hostile(): unknown {
    const { random, subjects } = this;
    return random.pick(hostileValues(subjects.all.map(({ object }) => object)))();
  }

  #target(): Target {
    const { random, native, subjects } = this;
    const roll = random.next();
    if (roll < 0.4) {
      const name = random.pick(Object.keys(functions));
      const call = (self: unknown, args: readonly unknown[]) => Reflect.apply(native[name as "abi"], self, args);
      return { name, self: native, call, takes: functions[name], lenient: false };
    }
    if (roll < 0.45) {
      const call = (_self: unknown, args: readonly unknown[]): unknown => {
        Reflect.construct(native.Selector, args).destroy();
        return undefined;
      };
      return { name: "new Selector", self: undefined, call, takes: selectorArguments, lenient: false };
    }
    const subject = random.pick(subjects.all);
    const names = Object.keys(methodsOf[subject.type]);
    // To cut what is mapped is to ask for SIGBUS, which ends the process with a message of its own.
    const mapped = subject.type === "file" && subject.isMapped;
    const name = random.pick(mapped ? names.filter((each) => each !== "truncate") : names);
    const method = (subject.object as unknown as Record<string, (...args: unknown[]) => unknown>)[name];
    return {
      name: `${subject.type}.${name}`,
      self: subject.object,
      call: (self, args) => Reflect.apply(method, self, args),
      takes: methodsOf[subject.type][name],
      lenient: subject.type === "selector",
    };
  }

  #get(): void {
    const { random, subjects } = this;
    const subject = random.pick(subjects.all);
    const getters = subject.type === "file" ? fileGetters : subject.type === "writer" ? writerGetters : [];
    for (const name of getters) {
      const call = (self: unknown): unknown => Reflect.get(subject.object, name, self);
      this.#try("get", { name: `${subject.type} ${name}`, self: subject.object, call, takes: [], lenient: false }, []);
      const self = random.chance(0.5) ? Object.create(subject.object) : this.#hostile();
      if (Object(self) !== self) continue;
      this.#try("get", { name: `${subject.type} ${name}`, self, call, takes: [], lenient: false }, []);
    }
  }

  #oneWrong(target: Target, right: unknown[]) {
    const { random } = this;
    if (target.takes.length === 0) return this.#try("right", target, right);
    const at = random.int(0, target.takes.length);
    const argument = target.takes[at];
    const field =
      argument.fields === undefined || random.chance(0.2) ? undefined : random.pick(Object.keys(argument.fields));
    const wrong = field === undefined ? argument : argument.fields![field];
    const value = this.#hostile();
    const args = [...right];
    args[at] = field === undefined ? value : { ...(right[at] as object), [field]: value };
    const mayBe = isOfKind(value, wrong.kind) || (wrong.optional === true && value === undefined) || target.lenient;
    this.#try(mayBe ? "one wrong" : "must be a TypeError", target, args);
  }

  /** While arguments are read, code of the caller runs that takes away what was read before. */
  #strike(target: Target, right: unknown[]) {
    const { random } = this;
    if (target.name === "selector.flush") {
      const files = strikingArray([], undefined, { strike: () => this.#end(random.pick(this.subjects.all)) });
      return this.#try("strike", target, [random.int(0, 3), files]);
    }
    const at = target.takes.findIndex(({ fields }) => fields !== undefined);
    if (at < 0) return this.#try("right", target, right);
    const options = right[at] as Readonly<Record<string, unknown>>;
    const strike = (): void => {
      const array = options[random.pick(["arena", "frames", "flushes", "counters"])] as Uint8Array | undefined;
      if (array !== undefined && array.length > 0) detached(array);
      this.#end(random.pick(this.subjects.all));
    };
    const args = [...right];
    args[at] = strikingOptions(options, random, { strike });
    this.#try("strike", target, args);
  }

  /** A row of the append table that may lie outside of what there is: then it is a RangeError, and nothing was read. */
  #appendRow(): void {
    const { random, native, subjects } = this;
    const writer = subjects.all.find(({ type }) => type === "writer")?.object as { id: number } | undefined;
    const source = new Uint8Array(64);
    const [from, bytes] = [
      random.pick([0, 1, 60, 64, 65, -1, 2 ** 31 - 1]),
      random.pick([0, 4, 5, 64, 65, -1, 2 ** 31 - 1]),
    ];
    const which = random.pick([0, 0, 0, 1, -1]);
    const table = Int32Array.of(writer?.id ?? -1, which, from, bytes, 1, -1, -1, -1);
    const outside = which !== 0 || from < 0 || bytes < 0 || from + bytes > source.length;
    this.#number++;
    writeSync(this.#last, `${this.#number} append of a row`.padEnd(80), 0);
    try {
      native.append(table, 1, [source], new Uint32Array(3));
      if (outside)
        this.notes.add(`call ${this.#number}, append took the row ${table.join()} of ${source.length} bytes`);
    } catch (error) {
      if (!(error instanceof RangeError)) this.notes.add(`call ${this.#number}, append: ${String(error)}`);
    }
  }

  /** Sources whose memory is somebody else's when the last of them is read. */
  #strikeAppend(): void {
    const { random, native, subjects } = this;
    const [bytes, table, index] = [new Uint8Array(8192).fill(1), new Int32Array(16), new Uint32Array(64)] as const;
    const writer = random.pick(subjects.all.filter(({ type }) => type === "writer").concat(subjects.all));
    bytes.set([0, 0, 31, 252]);
    table.set([(writer.object as { id?: number }).id ?? 0, random.int(0, 3), 0, bytes.length, 1]);
    const strike = (): void => {
      for (const array of random.shuffled([bytes, table, index]).slice(0, random.int(1, 3))) detached(array);
      native.append(new Int32Array(8), 0, [new Uint8Array(100)], new Uint32Array(3));
      if (random.chance(0.5)) globalThis.gc?.();
      this.#end(random.pick(subjects.all));
    };
    const call = (self: unknown, args: readonly unknown[]) => Reflect.apply(native.append, self, args);
    const target: Target = { name: "append", self: native, call, takes: functions.append, lenient: false };
    this.#try("strike", target, [table, 1, strikingArray([bytes, bytes], bytes, { strike }), index]);
  }

  #end(subject: Subject): void {
    if (subject.type === "selector") subject.object.destroy();
    else if (subject.type === "file") void subject.object.close();
    else if (subject.type === "lock") subject.object.release();
  }

  #try(manner: string, target: Target, args: readonly unknown[]): void {
    this.#number++;
    writeSync(this.#last, `${this.#number} ${target.name} ${manner}`.padEnd(80), 0);
    try {
      const result = target.call(target.self, args);
      if (result instanceof Promise) this.#promises.push(this.#watch(target.name, result));
      if (manner === "must be a TypeError") this.#wrong(target, args, "took it");
    } catch (error) {
      this.notes.count("exceptions");
      if (error instanceof Trapped) return;
      const { code } = error as { code?: unknown };
      if (!(error instanceof Error)) this.#wrong(target, args, `threw ${String(error)}`);
      else if (manner === "must be a TypeError" && !(error instanceof TypeError) && code !== "ERR_CLOSED") {
        this.#wrong(target, args, `threw ${error.name} ${String(code)}: ${error.message}`);
      }
    }
  }

  #watch(name: string, promise: Promise<unknown>): Promise<void> {
    return promise.then(
      () => undefined,
      (error: unknown) => {
        const known = error instanceof Error && typeof (error as { code?: unknown }).code === "string";
        if (!known) this.notes.add(`${name} rejected with ${String(error)}`);
      },
    );
  }

  #wrong({ name }: Target, args: readonly unknown[], what: string): void {
    const shown = args.map((arg) => {
      try {
        return typeof arg === "object" && arg !== null ? Object.prototype.toString.call(arg) : String(arg).slice(0, 40);
      } catch {
        return "?";
      }
    });
    this.notes.add(`call ${this.#number}, ${name}(${shown.join(", ")}) ${what}`);
  }
}

/** What was done to it did it no harm. */
async function stillWorks(native: NativeAddon, { directory }: Job, number: number): Promise<boolean> {
  for (const mode of [0, 1] as const) {
    const writer = await native.createSegmentWriter(writerOptions(directory, `after-${number}-${mode}.log`, mode));
    if (append(native, writer, 5) !== 0) return false;
    await writer.barrier();
    if (!(await holds(native, writer.file, 5))) return false;
    await writer.seal();
    writer.file.close();
  }
  return true;
}

async function play(job: Job): Promise<void> {
  process.chdir(job.directory);
  const native = loadAddon(job);
  const random = new Random(job.seed);
  const subjects = new Subjects(native, job.directory, random.fork("subjects"));
  const caller = new Caller(native, subjects, random.fork("calls"), job.directory);
  const { notes } = caller;
  // A selector whose arrays somebody took away ends so, by its documentation.
  process.on("uncaughtException", (error) => {
    if (error instanceof TypeError && error.message.includes("detached or resized"))
      notes.count("selectors whose arrays were gone");
    else notes.add(`uncaught: ${error.stack}`);
  });
  // The pools' threads and what they need are there for good.
  await stillWorks(native, job, -1);
  // Without the file of the last call.
  const before = descriptors() - 1;
  const until = performance.now() + job.seconds * 1000;
  for (let round = 0; performance.now() < until; round++) {
    await subjects.fill();
    for (let at = 0; at < STEPS_AT_ONCE; at++) caller.step();
    await caller.settle();
    await subjects.replaceSome();
    if (round % 20 === 0 && !(await stillWorks(native, job, round)))
      notes.add(`in round ${round} it did not work any more`);
  }
  subjects.end();
  await caller.settle();
  caller.close();
  if (!(await stillWorks(native, job, -2))) notes.add("in the end it did not work any more");
  const after = await eventually(descriptors, (now) => now <= before);
  if (after > before) notes.add(`${before} descriptors before, ${after} after`);
  tell(notes);
  // A selector that nobody remembers may listen on.
  process.exit();
}

await play(jobOf(process.argv[2]));
