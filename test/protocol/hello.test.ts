// HELLO v1, and the list of versions that it announces.

import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import {
  ApiKey,
  apiKeyOf,
  apiVersionOf,
  isRequestKind,
  RequestKind,
  SUPPORTED_VERSIONS,
} from "../../src/protocol/api-keys.js";
import { decodeHello, decodeHelloResponse, encodeHelloRequest, encodeHelloResponse } from "../../src/protocol/hello.js";
import { concat, embed, hex, prefixes, withExtremes } from "../support/bytes.js";

const HELLO = {
  brokerName: "millrace",
  brokerVersion: "0.1.0",
  maxFrameBytes: 8 * 1024 * 1024,
  maxFetchWaitMillis: 60_000,
  versions: [
    { apiKey: 1, minVersion: 1, maxVersion: 1 },
    { apiKey: 3, minVersion: 1, maxVersion: 2 },
  ],
};
const RESPONSE = hex(`
  00000033 00000005 0000
    0008 6d696c6c72616365  0005 302e312e30  00800000 0000ea60
    00000002  0001 0001 0001  0003 0001 0002`);

describe("HELLO v1", () => {
  it("asks with an empty body and nothing else", () => {
    expect(encodeHelloRequest(5)).toEqual(hex("00000008 0004 0001 00000005"));
    const { view, from, end } = embed(hex("00"));
    expect(decodeHello(view, from, from)).toBe(ErrorCodes.NONE);
    expect(decodeHello(view, from, end)).toBe(ErrorCodes.CORRUPT_REQUEST);
  });

  it("is answered as the bytes say, and read back", () => {
    const frame = encodeHelloResponse(5, HELLO);
    expect(frame.subarray(4)).toEqual(RESPONSE.subarray(4));
    expect(new DataView(frame.slice().buffer).getInt32(0)).toBe(frame.length - 4);
    const { view, from, end } = embed(frame.subarray(10));
    expect(decodeHelloResponse(view, from, end)).toEqual(HELLO);
  });

  it("does not parse when cut, longer, or with numbers that cannot be", () => {
    const body = RESPONSE.subarray(10);
    const bad = [...prefixes(body), concat(body, hex("00")), ...withExtremes(body, 25)];
    for (const [at, value] of [
      [17, "00000000"],
      [17, "ffffffff"],
      [21, "ffffffff"],
    ] as const) {
      const changed = body.slice();
      changed.set(hex(value), at);
      bad.push(changed);
    }
    for (const bytes of bad) {
      const { view, from, end } = embed(bytes);
      expect(() => decodeHelloResponse(view, from, end)).toThrow(expect.objectContaining({ code: "BAD_RESPONSE" }));
    }
  });
});

describe("the kinds of requests", () => {
  it("are announced without a gap", () => {
    for (const { apiKey, minVersion, maxVersion } of SUPPORTED_VERSIONS) {
      for (let version = minVersion; version <= maxVersion; version++) {
        expect(isRequestKind((apiKey << 16) | version)).toBe(true);
      }
      expect(isRequestKind((apiKey << 16) | (minVersion - 1))).toBe(false);
      expect(isRequestKind((apiKey << 16) | (maxVersion + 1))).toBe(false);
    }
    expect(SUPPORTED_VERSIONS.map((range) => range.apiKey)).toEqual(Object.values(ApiKey));
  });

  it("are apiKey and version in one int32", () => {
    expect(apiKeyOf(RequestKind.METADATA_V2)).toBe(3);
    expect(apiVersionOf(RequestKind.METADATA_V2)).toBe(2);
    expect(apiKeyOf(-1)).toBe(-1);
    expect(apiVersionOf(0x0001_ffff)).toBe(-1);
    for (const unknown of [0, -1, 0x0001_0000, 0x0002_0004, 0x0005_0002, 0x7fff_7fff, -0x8000_0000]) {
      expect(isRequestKind(unknown)).toBe(false);
    }
  });
});
