// The frame's header, in both directions.

import { describe, expect, it } from "vitest";
import { ErrorCodes } from "../../src/model/error-codes.js";
import {
  correlationIdAt,
  EMPTY_RESPONSE_BYTES,
  requestKindAt,
  writeErrorResponse,
  writeRequestHeader,
  writeResponseHeader,
} from "../../src/protocol/frame.js";
import { hex } from "../support/bytes.js";

describe("a frame", () => {
  it("has a request header as the bytes say", () => {
    const bytes = new Uint8Array(13);
    expect(writeRequestHeader(new DataView(bytes.buffer), 1, 100, 0x0002_0001, -2)).toBe(13);
    expect(bytes).toEqual(hex("00 0000006c 0002 0001 fffffffe"));
    expect(requestKindAt(new DataView(bytes.buffer), 5)).toBe(0x0002_0001);
    expect(correlationIdAt(new DataView(bytes.buffer), 5)).toBe(-2);
  });

  it("has a response header as the bytes say", () => {
    const bytes = new Uint8Array(11);
    expect(writeResponseHeader(new DataView(bytes.buffer), 1, 16, 9, ErrorCodes.NONE)).toBe(11);
    expect(bytes).toEqual(hex("00 00000016 00000009 0000"));
  });

  it("is an error without a body", () => {
    const bytes = new Uint8Array(EMPTY_RESPONSE_BYTES);
    expect(writeErrorResponse(new DataView(bytes.buffer), 0, 9, ErrorCodes.LOG_FULL)).toBe(bytes.length);
    expect(bytes).toEqual(hex("00000006 00000009 0007"));
  });
});
