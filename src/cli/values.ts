// Options' values, read as the broker's settings are: the same sizes and times, the same sentences when they do not parse.

import { InvalidArgumentError, Option } from "commander";
import * as v from "valibot";
import { isTopicName, TOPIC_NAME_RULE } from "../model/topic-name.js";
import { factsOf, type Kind } from "../ops/settings/kinds.js";

/** A commander argument parser of a kind of settings. */
export function value<T>(of: Kind<T>): (written: string) => T {
  return (written) => {
    const result = v.safeParse(of, written);
    if (result.success) return result.output;
    throw new InvalidArgumentError(`It takes ${factsOf(of).takes}.`);
  };
}

/** An option of such a kind. Its default is shown as somebody would write it. */
export function option<T>(flags: string, description: string, of: Kind<T>, byDefault?: T): Option {
  const made = new Option(flags, description).argParser(value(of));
  return byDefault === undefined ? made : made.default(byDefault, factsOf(of).show(byDefault));
}

/**
 * A commander argument parser of a path. An empty one, as of a variable that is not set, would be the working directory; one
 * that looks like an option is what stood behind a value that was left out.
 */
export function path(written: string): string {
  if (written === "") throw new InvalidArgumentError("It is empty: expected a path.");
  if (written.startsWith("--")) throw new InvalidArgumentError(`Expected a path; ./${written} is a file of that name.`);
  return written;
}

/** A commander argument parser of a topic's name. */
export function topicName(written: string): string {
  if (isTopicName(written)) return written;
  throw new InvalidArgumentError(`It is no topic name: expected ${TOPIC_NAME_RULE}.`);
}

/** Text in which \t, \n, \r, \0 and \\ stand for themselves as in a shell's $'…'. */
export function unescaped(written: string): string {
  return written.replace(/\\([tnr0\\])/g, (_, letter: string) => ESCAPES[letter]);
}

const ESCAPES: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", "0": "\0", "\\": "\\" };
