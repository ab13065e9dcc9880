// Pages are fragments of one address: `#/topics/orders/3/records?offset=17`. Going back and forward is the browser's.

export type Page =
  | { readonly name: "overview" }
  | { readonly name: "topics" }
  | { readonly name: "broker" }
  | { readonly name: "topic"; readonly topic: string }
  | { readonly name: "tail"; readonly topic: string }
  | { readonly name: "partition"; readonly topic: string; readonly partition: number }
  | { readonly name: "records"; readonly topic: string; readonly partition: number }
  | { readonly name: "unknown"; readonly path: string };

export interface Place {
  readonly page: Page;
  readonly query: URLSearchParams;
}

export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  return { page: pageOf(path), query: new URLSearchParams(query) };
}

function pageOf(path: string): Page {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);
  const [first, topic, third, fourth] = parts;
  if (first === undefined) return { name: "overview" };
  if (first === "broker" && parts.length === 1) return { name: "broker" };
  if (first !== "topics" || parts.length > 4) return { name: "unknown", path };
  if (topic === undefined) return { name: "topics" };
  if (third === undefined) return { name: "topic", topic };
  if (third === "tail" && fourth === undefined) return { name: "tail", topic };
  if (!/^\d{1,5}$/.test(third)) return { name: "unknown", path };
  const partition = Number(third);
  if (fourth === undefined) return { name: "partition", topic, partition };
  return fourth === "records" ? { name: "records", topic, partition } : { name: "unknown", path };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

type Query = Readonly<Record<string, string | number | undefined>>;

function queryOf(query: Query): string {
  const written = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)] as [string, string]],
  );
  return written.length === 0 ? "" : `?${new URLSearchParams(written)}`;
}

const name = encodeURIComponent;

/** Addresses of pages, for links. */
export const to = {
  overview: "#/",
  topics: "#/topics",
  broker: "#/broker",
  topic: (topic: string): string => `#/topics/${name(topic)}`,
  tail: (topic: string, partitions?: string): string =>
    `#/topics/${name(topic)}/tail${queryOf({ partition: partitions })}`,
  partition: (topic: string, partition: number): string => `#/topics/${name(topic)}/${partition}`,
  records: (topic: string, partition: number, query: Query = {}): string =>
    `#/topics/${name(topic)}/${partition}/records${queryOf(query)}`,
} as const;

/** The page above this one; undefined at the top. */
export function above(page: Page): string | undefined {
  switch (page.name) {
    case "records":
      return to.partition(page.topic, page.partition);
    case "partition":
    case "tail":
      return to.topic(page.topic);
    case "topic":
      return to.topics;
    case "topics":
    case "broker":
    case "unknown":
      return to.overview;
    case "overview":
      return undefined;
  }
}
