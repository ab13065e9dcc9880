// Which requests there are, and the one list of what this broker speaks. HELLO tells it to clients; the session's dispatch
// is a switch over RequestKind that the compiler checks for completeness, so a version cannot be announced and not served.

export const ApiKey = { PRODUCE: 1, FETCH: 2, METADATA: 3, HELLO: 4, LIST_OFFSETS: 5 } as const;
export type ApiKey = (typeof ApiKey)[keyof typeof ApiKey];

/** apiKey and apiVersion as they lie in a request's first four bytes: one int32 to switch on. */
export const RequestKind = {
  PRODUCE_V1: 0x0001_0001,
  PRODUCE_V2: 0x0001_0002,
  FETCH_V1: 0x0002_0001,
  FETCH_V2: 0x0002_0002,
  FETCH_V3: 0x0002_0003,
  METADATA_V1: 0x0003_0001,
  METADATA_V2: 0x0003_0002,
  HELLO_V1: 0x0004_0001,
  LIST_OFFSETS_V1: 0x0005_0001,
} as const;
export type RequestKind = (typeof RequestKind)[keyof typeof RequestKind];

const KINDS: ReadonlySet<number> = new Set(Object.values(RequestKind));

/** Whether the first int32 of a request names a request of this broker. If not: UNSUPPORTED_VERSION. */
export function isRequestKind(kind: number): kind is RequestKind {
  return KINDS.has(kind);
}

export const apiKeyOf = (kind: number): number => kind >> 16;
export const apiVersionOf = (kind: number): number => (kind << 16) >> 16;

export interface VersionRange {
  readonly apiKey: number;
  readonly minVersion: number;
  readonly maxVersion: number;
}

/** Whether whoever announced these speaks a version of a request. */
export function hasVersion(ranges: readonly VersionRange[], apiKey: ApiKey, version: number): boolean {
  return ranges.some((range) => range.apiKey === apiKey && range.minVersion <= version && version <= range.maxVersion);
}

/** What HELLO announces, made from {@link RequestKind}. The versions of a key have no gaps; a test holds that. */
export const SUPPORTED_VERSIONS: readonly VersionRange[] = Object.values(ApiKey).map((apiKey) => {
  const versions = Object.values(RequestKind)
    .filter((kind) => apiKeyOf(kind) === apiKey)
    .map(apiVersionOf);
  return { apiKey, minVersion: Math.min(...versions), maxVersion: Math.max(...versions) };
});

/** What a broker speaks that answers HELLO with UNSUPPORTED_VERSION. It stores `crc32c`. */
export const OLDEST_VERSIONS: readonly VersionRange[] = [
  { apiKey: ApiKey.PRODUCE, minVersion: 1, maxVersion: 1 },
  { apiKey: ApiKey.FETCH, minVersion: 1, maxVersion: 2 },
  { apiKey: ApiKey.METADATA, minVersion: 1, maxVersion: 1 },
];
