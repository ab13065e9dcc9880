// Builds the fuzz targets with the product's native core and lets libFuzzer have them for a while. Needs clang++ with its libraries for
// fuzzing and sanitizers (Debian: clang, libclang-rt-14-dev), and make. The corpus is kept as text, an input a line.

import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Stage } from "../../lib/rung.js";

const run = promisify(execFile);
const OUTPUT_BYTES = 64 * 1024 * 1024;

/** A target, and how long its inputs may be. */
const TARGETS = { frames: 1024, walk: 1024, region: 1024, segment: 1024, intake: 512, append: 512 } as const;
const AT_ONCE = 2;
const SECONDS_MIN = 3;
/** Of one input. */
const INPUT_SECONDS = 10;

const here = "faults/rungs/input";

/** Where the product's sources are: a mutated copy has its own. */
export const sourcesOf = ({ product }: Pick<Stage, "product">): string => dirname(product.dist);

const makefile = (root: string, native: string): string => `CXX = clang++
FLAGS = -std=c++17 -O1 -g -fno-rtti -fno-exceptions -pthread -fno-omit-frame-pointer -fno-sanitize-recover=all
SANITIZE = address,undefined
CORE = $(filter-out %_${process.platform === "linux" ? "darwin" : "linux"}.cc,$(wildcard ${native}/core/*.cc))
OBJECTS = $(patsubst ${native}/core/%.cc,core-%.o,$(CORE))
TARGETS = ${Object.keys(TARGETS).join(" ")}
all: $(TARGETS)
core-%.o: ${native}/core/%.cc
	$(CXX) $(FLAGS) -fsanitize=fuzzer-no-link,$(SANITIZE) -I${native} -MMD -c $< -o $@
%.o: ${join(root, here)}/native/%.cc
	$(CXX) $(FLAGS) -fsanitize=fuzzer-no-link,$(SANITIZE) -I${native} -MMD -c $< -o $@
core.a: $(OBJECTS)
	rm -f $@ && ar rcs $@ $^
$(TARGETS): %: %.o core.a
	$(CXX) $(FLAGS) -fsanitize=fuzzer,$(SANITIZE) $< core.a -o $@
-include *.d
`;

/** Why it cannot be done here, or undefined. */
export async function whyNotFuzz(directory: string): Promise<string | undefined> {
  const source = join(directory, "probe.cc");
  await writeFile(source, 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n');
  try {
    await run("clang++", ["-fsanitize=fuzzer,address,undefined", source, "-o", join(directory, "probe")]);
    await run("make", ["--version"]);
    return undefined;
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr || error);
    return `clang++ with libFuzzer and sanitizers, or make, is not there: ${said.trim().split("\n")[0]}`;
  }
}

/** Returns the directory in which they are. */
export async function buildTargets(stage: Stage): Promise<string> {
  const sources = sourcesOf(stage);
  const directory = join(sources, ".cache", "fuzz");
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "Makefile"), makefile(stage.root, join(sources, "native")));
  await run("make", [`-j${Math.min(4, availableParallelism())}`, "-s"], { cwd: directory, maxBuffer: OUTPUT_BYTES });
  return directory;
}

export interface Fuzzed {
  readonly counts: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

export async function fuzz(stage: Stage, programs: string, until: number): Promise<Fuzzed> {
  const names = Object.keys(TARGETS) as (keyof typeof TARGETS)[];
  const seconds = Math.max(SECONDS_MIN, ((until - performance.now()) / 1000) * (AT_ONCE / names.length));
  const counts: Record<string, number> = { "inputs of the corpus": 0 };
  const wrong: string[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < names.length && wrong.length === 0) {
        const name = names[next++];
        const result = await fuzzOne(stage, programs, name, seconds);
        counts["inputs of the corpus"] += result.kept;
        counts[`inputs to ${name}`] = result.tried;
        if (result.wrong !== undefined) wrong.push(result.wrong);
      }
    }),
  );
  return { counts, wrong };
}

async function fuzzOne(stage: Stage, programs: string, name: keyof typeof TARGETS, seconds: number) {
  const kept = await readFile(join(stage.root, here, "corpus", `${name}.hex`), "utf8");
  const inputs = kept.split("\n").filter((line) => line !== "");
  const corpus = join(stage.directory, `kept-${name}`);
  const work = join(stage.directory, `corpus-${name}`);
  const artifacts = join(stage.directory, `${name}-`);
  for (const directory of [corpus, work]) await mkdir(directory, { recursive: true });
  for (const [i, hex] of inputs.entries()) await writeFile(join(corpus, String(i)), Buffer.from(hex, "hex"));
  const options = [
    `-seed=${1 + (stage.seed % 0x7fffffff)}`,
    `-max_total_time=${Math.round(seconds)}`,
    `-max_len=${TARGETS[name]}`,
    `-timeout=${INPUT_SECONDS}`,
    "-rss_limit_mb=1024",
    "-malloc_limit_mb=64",
    "-print_final_stats=1",
    "-verbosity=1",
    `-artifact_prefix=${artifacts}`,
  ];
  const limits = {
    maxBuffer: OUTPUT_BYTES,
    timeout: Math.round((seconds + 120) * 1000),
    killSignal: "SIGKILL" as const,
    // Segments lie where it runs.
    cwd: work,
  };
  // What it finds goes into the first directory; the second is only read.
  const { output, failed } = await run(join(programs, name), [...options, work, corpus], limits).then(
    ({ stderr }) => ({ output: stderr, failed: false }),
    (error: { stderr?: string; message: string }) => ({ output: error.stderr || error.message, failed: true }),
  );
  const tried = Number(/number_of_executed_units:\s*(\d+)/.exec(output)?.[1] ?? 0);
  return { kept: inputs.length, tried, wrong: failed ? `${name}: ${blame(output)}` : undefined };
}

/** What the sanitizer or the target said, and the input as libFuzzer shows it. */
function blame(output: string): string {
  const lines = output.split("\n");
  const telling = lines.filter((line) =>
    /^demand:|ERROR:|runtime error|SUMMARY|^Base64|Test unit written|^\s+#[0-6] .*millrace/.test(line),
  );
  return (telling.length > 0 ? telling : lines.slice(-20)).join("\n");
}
