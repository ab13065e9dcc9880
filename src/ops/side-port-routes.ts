// Which page a path names. A table of patterns, compared part by part: a router would be a package and part of the start-up
// time for a dozen fixed paths, and what it does beyond that (methods, bodies, middleware) is what the side port must not have.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Reply } from "./side-port-answer.js";

export interface Asked {
  /** What stands in the path where the pattern has a name, in order, decoded. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  /** For an answer that does not end. Everything else is returned. */
  readonly response: ServerResponse;
}

export interface Route {
  /** `/api/topics/:topic`; `*` at the end stands for the rest of the path, whatever is in it. */
  readonly pattern: string;
  /** Undefined: it answers by itself. */
  readonly answer: (asked: Asked) => Reply | undefined | Promise<Reply | undefined>;
}

/** The first route that fits, with its parts. */
export function findRoute(
  routes: readonly Route[],
  path: string,
): { readonly route: Route; readonly parts: readonly string[] } | undefined {
  for (const route of routes) {
    const parts = match(route.pattern, path);
    if (parts !== undefined) return { route, parts };
  }
  return undefined;
}

function match(pattern: string, path: string): readonly string[] | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  const isOpen = wanted.at(-1) === "*";
  if (isOpen ? given.length < wanted.length : given.length !== wanted.length) return undefined;
  const parts: string[] = [];
  for (let i = 0; i < wanted.length; i++) {
    if (wanted[i] === "*") return [...parts, given.slice(i).join("/")];
    if (!wanted[i].startsWith(":")) {
      if (wanted[i] !== given[i]) return undefined;
      continue;
    }
    const part = decoded(given[i]);
    if (part === undefined || part === "") return undefined;
    parts.push(part);
  }
  return parts;
}

/** Topics may be called `.` and `..`, which no URL can hold as a part: they are written `~.` and `~..`. No name has a `~`. */
function decoded(text: string): string | undefined {
  if (text === "~." || text === "~..") return text.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
