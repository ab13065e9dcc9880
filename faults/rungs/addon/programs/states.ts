// Every method of every object in each of its states: open, busy (calls are under way), ending, closed, and forgotten in each of them while the collector
// runs. It works, or throws the error that binding.ts documents.

import { once } from "node:events";
import { connect } from "node:net";
import type { NativeAddon, NativeFile, NativeSegmentWriter } from "../../../../src/native/binding.js";
import { Random } from "../../../lib/random.js";
import { descriptors, eventually, settled } from "../environment.js";
import { type Job, jobOf, loadAddon, Notes, tell } from "../job.js";
import {
  append,
  fileGetters,
  fileMethods,
  type Methods,
  selectorMethods,
  selectorOptionsOf,
  writerGetters,
  writerMethods,
  writerOptions,
} from "../surface.js";

const FORGOTTEN_MS = 60_000;
/** Until what the first round left is collected. */
const SETTLES_MS = 500;
const CLOSED = "ERR_CLOSED";

type Outcome = "works" | typeof CLOSED;

class States {
  readonly notes = new Notes();
  #number = 0;
  readonly #registry = new FinalizationRegistry<string>(() => this.notes.count("objects collected"));

  constructor(
    readonly native: NativeAddon,
    readonly job: Job,
    readonly random: Random,
  ) {}

  async round(): Promise<void> {
    for (const mode of [0, 1] as const) {
      for (const name of Object.keys(writerMethods)) await this.#writer(mode, name);
    }
    for (const name of Object.keys(fileMethods)) await this.#file(name);
    for (const name of Object.keys(selectorMethods)) await this.#selector(name);
    this.#lock();
    for (const mode of [0, 1] as const) await this.#forget(mode);
    globalThis.gc?.();
  }

  #path(): string {
    return `state-${this.#number++}`;
  }

  async #open(mode: 0 | 1): Promise<NativeSegmentWriter> {
    const writer = await this.native.createSegmentWriter(writerOptions(this.job.directory, this.#path(), mode));
    if (append(this.native, writer) !== 0) this.notes.add("the first append to a writer failed");
    this.#registry.register(writer, "writer");
    return writer;
  }

  async #writer(mode: 0 | 1, name: string): Promise<void> {
    const busy = (writer: NativeSegmentWriter) => [
      writer.barrier(),
      writer.reserve(1 << 20),
      writer.reserve(1 << 20, true),
    ];
    const states: Record<string, [(writer: NativeSegmentWriter) => unknown, Outcome]> = {
      open: [() => undefined, "works"],
      busy: [busy, "works"],
      "busy, then sealing": [(writer) => [...busy(writer), writer.seal()], CLOSED],
      closing: [(writer) => writer.close(), CLOSED],
      sealed: [(writer) => writer.seal(), name === "close" ? "works" : CLOSED],
      closed: [(writer) => writer.close(), name === "close" ? "works" : CLOSED],
    };
    for (const [state, [reach, outcome]] of Object.entries(states)) {
      const writer = await this.#open(mode);
      const reached = reach(writer);
      if (state === "sealed" || state === "closed") await reached;
      const where = `a writer that is ${state} (mode ${mode})`;
      await this.#expect(`${where}: ${name}`, writer, name, writerMethods, outcome);
      for (const getter of writerGetters) this.#isNumber(`${where}: ${getter}`, Reflect.get(writer, getter));
      if (outcome === CLOSED && appends(this.native, writer)) this.notes.add(`${where} takes an append`);
      await settled(Promise.allSettled([reached].flat()), FORGOTTEN_MS, () => this.notes.add(`${where}: forgotten`));
      await writer.close().catch(() => undefined);
      writer.file.close();
    }
  }

  async #file(name: string): Promise<void> {
    const states: Record<string, [(file: NativeFile) => unknown, Outcome]> = {
      open: [() => undefined, "works"],
      busy: [(file) => [file.sync(), file.scan(1, 0, 4096, 4096), file.readAsync(new Uint8Array(4096), 0)], "works"],
      "busy and closed": [(file) => [[file.sync(), file.truncate(9000)], file.close()].flat(), CLOSED],
      closed: [(file) => file.close(), CLOSED],
    };
    for (const [state, [reach, outcome]] of Object.entries(states)) {
      const path = this.#path();
      const file = await this.native.openFile(path, { writable: true, create: true });
      this.#registry.register(file, "file");
      const reached = reach(file);
      const where = `a file that is ${state}`;
      await this.#expect(`${where}: ${name}`, file, name, fileMethods, name === "close" ? "works" : outcome);
      if (file.path !== path || file.isOpen !== (outcome === "works" && name !== "close")) {
        this.notes.add(`${where}: ${fileGetters.join()} are ${file.path}, ${file.isOpen}`);
      }
      const all = Promise.all([reached].flat());
      await settled(all, FORGOTTEN_MS, () => this.notes.add(`${where}: forgotten`));
      file.close();
    }
  }

  async #selector(name: string): Promise<void> {
    for (const state of ["fresh", "listening", "connected", "finishing", "finished", "destroyed"] as const) {
      const selector = new this.native.Selector(selectorOptionsOf(this.random), () => undefined);
      this.#registry.register(selector, "selector");
      const ends: Promise<unknown>[] = [];
      let socket: ReturnType<typeof connect> | undefined;
      if (state !== "fresh") {
        const port = selector.listen("127.0.0.1", 0);
        if (state === "connected" || state === "finishing") {
          socket = connect(port, "127.0.0.1").on("error", () => undefined);
          await once(socket, "connect");
        }
        if (state === "finishing") ends.push(selector.finish(50));
        if (state === "finished") await selector.finish(0);
        if (state === "destroyed") selector.destroy();
      }
      const over = state === "finished" || state === "destroyed";
      const outcome = over && name.startsWith("listen") ? CLOSED : "works";
      await this.#expect(`a selector that is ${state}: ${name}`, selector, name, selectorMethods, outcome);
      selector.destroy();
      socket?.destroy();
      await settled(Promise.all(ends), FORGOTTEN_MS, () => this.notes.add(`a finish was forgotten (${name})`));
    }
  }

  #lock(): void {
    const path = this.#path();
    const lock = this.native.lockFile(path);
    this.#registry.register(lock, "lock");
    try {
      this.native.lockFile(path);
      this.notes.add("a lock that is held was taken");
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ELOCKED") this.notes.add(`a lock that is held: ${String(error)}`);
    }
    lock.release();
    lock.release();
    this.native.lockFile(path).release();
    this.notes.count("states of methods", 3);
  }

  /** Dropped in each state, with calls under way; they are carried out all the same. */
  async #forget(mode: 0 | 1): Promise<void> {
    const under: Promise<unknown>[] = [];
    await (async () => {
      const open = await this.#open(mode);
      under.push(open.barrier(), open.reserve(1 << 20, true), open.file.scan(1, 0, 4096, 4096), open.file.sync());
      const sealing = await this.#open(mode);
      under.push(sealing.barrier(), sealing.seal());
      const closing = await this.#open(mode);
      under.push(closing.barrier(), closing.close());
      this.native.lockFile(this.#path());
    })();
    globalThis.gc?.();
    const late = (): void => this.notes.add(`calls of a forgotten writer were forgotten, too (mode ${mode})`);
    await settled(Promise.all(under), FORGOTTEN_MS, late);
    this.notes.count("objects forgotten while busy", 3);
  }

  async #expect(what: string, object: object, name: string, methods: Methods, outcome: Outcome): Promise<void> {
    this.notes.count("states of methods");
    const args = methods[name].map(({ right }) => right(this.random));
    // Without files there are no rows.
    if (name === "flush") args[0] = 0;
    let came: string;
    try {
      const result = Reflect.apply(Reflect.get(object, name), object, args);
      if (result instanceof Promise) await settled(result, FORGOTTEN_MS, () => this.notes.add(`${what} is forgotten`));
      came = "works";
    } catch (error) {
      came = String((error as { code?: unknown }).code ?? error);
    }
    if (came !== outcome) this.notes.add(`${what}: ${came}, and should be: ${outcome}`);
  }

  #isNumber(what: string, value: unknown): void {
    if (typeof value !== "number") this.notes.add(`${what} is ${String(value)}`);
  }
}

function appends(native: NativeAddon, writer: NativeSegmentWriter): boolean {
  try {
    append(native, writer);
    return true;
  } catch {
    return false;
  }
}

const job = jobOf(process.argv[2]);
process.chdir(job.directory);
const native = loadAddon(job);
const states = new States(native, job, new Random(job.seed));
const { notes } = states;
await states.round();
const before = await eventually(descriptors, () => false, SETTLES_MS);
const until = performance.now() + job.seconds * 1000;
let rounds = 1;
for (; performance.now() < until; rounds++) await states.round();
notes.count("rounds of states", rounds);
const after = await eventually(descriptors, (now) => now <= before);
if (after > before) notes.add(`${before} descriptors before ${rounds - 1} rounds, ${after} after`);
tell(notes);
process.exit();
