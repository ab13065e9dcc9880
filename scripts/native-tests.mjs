// Compiles native/core and native/test under sanitizers and runs each test file as a program of its own.
//
//   node scripts/native-tests.mjs                 all, under ASan and UBSan
//   node scripts/native-tests.mjs crc32c segment  native/test/crc32c_test.cc and segment_test.cc
//   node scripts/native-tests.mjs --tsan          under ThreadSanitizer
//   node scripts/native-tests.mjs --plain         without sanitizers, optimised as the addon is
//
// Objects stay in build/native-tests/<variant> and are made again when a file they depend on is newer. The core goes into an archive,
// so that a test links what it uses and one broken file does not hide the results of the others.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { lastCounts } from "./lib/counts.mjs";
import { root, run } from "./lib/run.mjs";
import { filesBelow } from "./lib/stale.mjs";

const common = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fno-rtti", "-fno-exceptions", "-pthread", "-g"];
const variants = {
  asan: ["-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-fsanitize=address,undefined"],
  // GCC says that it does not follow fences. That of the core stands before bytes that are read through the file, by no thread of ours.
  tsan: ["-O1", "-fno-omit-frame-pointer", "-Wno-unknown-warning-option", "-Wno-tsan", "-fsanitize=thread"],
  plain: ["-O3"],
};
const environment = {
  ...process.env,
  ASAN_OPTIONS: "strict_string_checks=1:check_initialization_order=1",
  UBSAN_OPTIONS: "print_stacktrace=1",
  TSAN_OPTIONS: "halt_on_error=1:second_deadlock_stack=1",
};
/** A native test that takes longer than this hangs. */
const testLimitMs = 120_000;

const compiler = process.env.CXX ?? "g++";

/** `{ passed, failed, skipped, output }`; `skipped` is a reason where the variant cannot run on this machine. */
export async function nativeTests({ variant = "asan", names = [], say = () => {} } = {}) {
  const flags = [...common, ...variants[variant]];
  const dir = join(root, "build/native-tests", variant);
  mkdirSync(dir, { recursive: true });
  const cannot = await whyNot(flags, dir);
  if (cannot !== undefined) return { passed: 0, failed: 0, skipped: cannot, output: "" };

  const compile = new Compiler(dir, flags);
  const core = await compile.all(filesBelow(join(root, "native/core"), [".cc"]).filter(isForThisPlatform));
  const ofTests = filesBelow(join(root, "native/test"), [".cc"]).filter(isForThisPlatform);
  const support = await compile.all(ofTests.filter((file) => !isTest(file)));
  const wanted = ofTests.filter(isTest).filter((file) => names.length === 0 || names.includes(testName(file)));
  const unknown = names.filter((name) => !wanted.some((file) => testName(file) === name));
  if (unknown.length > 0) throw new Error(`there is no native/test/${unknown[0]}_test.cc`);

  const archive = await compile.archive(core.objects);
  const results = await inParallel(wanted, async (file) => {
    const { objects } = await compile.all([file]);
    if (objects.length === 0) return { passed: 0, failed: 1, output: "" };
    const program = await compile.link(testName(file), [...objects, ...support.objects, archive]);
    return program === undefined ? { passed: 0, failed: 1, output: "" } : await runTest(program, variant, say);
  });
  const broken = [...core.broken, ...support.broken].length;
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const output = [...compile.messages, ...results.filter((result) => result.failed > 0).map((result) => result.output)];
  return { passed: sum("passed"), failed: sum("failed") + broken, skipped: undefined, output: output.join("\n") };
}

const isTest = (file) => file.endsWith("_test.cc");
const testName = (file) => basename(file, "_test.cc");
const isForThisPlatform = (file) => {
  const platform = /_(linux|darwin)(_test)?\.cc$/.exec(file)?.[1];
  return platform === undefined || platform === process.platform;
};

/** Sanitizers are libraries of the compiler, and not everywhere, nor do they run everywhere: tried on an empty program. */
async function whyNot(flags, dir) {
  const source = join(dir, "probe.cc");
  const program = join(dir, "probe");
  writeFileSync(source, "int main() { return 0; }\n");
  const linked = await run(compiler, [...flags, source, "-o", program]);
  if (linked.code === 127) return `there is no compiler ${compiler}`;
  if (linked.code !== 0) return `${compiler} cannot link with ${flags.at(-1)}: ${firstLine(linked)}`;
  const ran = await run(program, [], { env: environment });
  return ran.code === 0 ? undefined : `programs with ${flags.at(-1)} do not run here: ${firstLine(ran)}`;
}

const firstLine = ({ output }) => output.trim().split("\n")[0];

class Compiler {
  messages = [];
  #dir;
  #flags;

  constructor(dir, flags) {
    this.#dir = dir;
    this.#flags = flags;
    // Other flags, other compiler: nothing that lies there is of use.
    const stamp = join(dir, "flags");
    const text = [compiler, ...flags].join(" ");
    if (existsSync(stamp) && readFileSync(stamp, "utf8") === text) return;
    for (const file of filesBelow(dir, [".o", ".d", ".a", ".test"])) rmSync(file);
    writeFileSync(stamp, text);
  }

  async all(sources) {
    const objects = await inParallel(sources, (source) => this.#object(source));
    return {
      objects: objects.filter((object) => object !== undefined),
      broken: sources.filter((_, index) => objects[index] === undefined),
    };
  }

  async #object(source) {
    const object = join(this.#dir, `${relative(join(root, "native"), source).replaceAll("/", "-")}.o`);
    if (isFresh(object)) return object;
    const name = relative(root, source); // so that messages and __FILE__ show it as people write it
    const args = [...this.#flags, "-I", "native", "-MMD", "-MF", `${object}.d`, "-c", name, "-o"];
    return await this.#made(object, compiler, args, [], name);
  }

  /** Made anew each time: `ar` is quick, and a member that is gone must not stay in. */
  async archive(objects) {
    return await this.#made(join(this.#dir, "core.a"), "ar", ["rcs"], objects, "native/core");
  }

  async link(name, inputs) {
    const program = join(this.#dir, `${name}.test`);
    const newest = Math.max(...inputs.filter((file) => file.endsWith(".o")).map(timeOf), ...this.#coreTimes());
    if (timeOf(program) > newest) return program;
    return await this.#made(program, compiler, [...this.#flags, "-o"], inputs, `${name}_test`);
  }

  #coreTimes() {
    return filesBelow(this.#dir, [".o"])
      .filter((file) => basename(file).startsWith("core-"))
      .map(timeOf);
  }

  /** By way of another name: two runs at once in one checkout never see half a file. */
  async #made(target, command, before, after, what) {
    const next = `${target}.${process.pid}`;
    rmSync(next, { force: true });
    const { code, output } = await run(command, [...before, next, ...after]);
    if (code === 0) {
      renameSync(next, target);
      return target;
    }
    rmSync(target, { force: true });
    this.messages.push(`${what} does not build:\n${output}`);
    return undefined;
  }
}

const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Newer than everything that the compiler said it read. */
function isFresh(object) {
  if (!existsSync(object) || !existsSync(`${object}.d`)) return false;
  const made = timeOf(object);
  const [, rule] = readFileSync(`${object}.d`, "utf8").replaceAll("\\\n", " ").split(/:\s/);
  return (rule ?? "")
    .trim()
    .split(/\s+/)
    .map((file) => resolve(root, file))
    .every((file) => existsSync(file) && timeOf(file) < made);
}

async function runTest(program, variant, say) {
  const { code, output } = await run(program, [], { env: environment, limitMs: testLimitMs });
  const name = basename(program, ".test");
  const counts = lastCounts(output);
  if (counts === undefined) {
    // It crashed, or a sanitizer ended it: what passed before is not known to have passed for the right reason.
    return { passed: 0, failed: 1, output: `${name}_test (${variant}) ended with ${code}:\n${output}` };
  }
  say(`${name}_test: ${counts.passed} passed, ${counts.failed} failed`);
  // Leaks are found after the last line was printed.
  const failed = counts.failed === 0 && code !== 0 ? 1 : counts.failed;
  return { passed: counts.passed, failed, output: `${name}_test (${variant}):\n${output}` };
}

async function inParallel(items, action) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) results[index] = await action(items[index]);
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), items.length) }, worker));
  return results;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const option = process.argv
    .slice(2)
    .find((argument) => argument.startsWith("--"))
    ?.slice(2);
  if (option !== undefined && variants[option] === undefined) throw new Error(`unknown argument --${option}`);
  const { passed, failed, skipped, output } = await nativeTests({ variant: option, names, say: console.log });
  if (output !== "") console.log(output);
  if (skipped !== undefined) console.log(`skipped: ${skipped}`);
  console.log(`${passed} passed, ${failed} failed${skipped === undefined ? "" : ", 1 skipped"}`);
  process.exitCode = failed === 0 ? 0 : 1;
}
