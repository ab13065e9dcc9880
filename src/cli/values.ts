// Options' values, read as the broker's settings are: the same sizes and times, the same sentences when they do not parse.

import { InvalidArgumentError } from "commander";
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
