// From an answer's bytes to what its request is waiting for.

import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import { unreachable } from "../model/invariant.js";
import { RequestKind } from "../protocol/api-keys.js";
import { decodeFetchResponse } from "../protocol/fetch.js";
import { decodeMultiFetchResponse } from "../protocol/fetch-multi.js";
import { RESPONSE_HEADER_BYTES } from "../protocol/frame.js";
import { decodeHelloResponse } from "../protocol/hello.js";
import { decodeListOffsetsResponse } from "../protocol/list-offsets.js";
import { decodeMetadataResponse } from "../protocol/metadata.js";
import { decodeProduceResponse } from "../protocol/produce.js";
import { holdsBatches } from "./answer-memory.js";
import { brokerError } from "./errors.js";
import type { FetchAnswer, MultiFetchAnswer, OpenRequest } from "./request-queue.js";

/**
 * Settles a request with its answer, `[from, end)` with header. Throws BAD_RESPONSE when the answer does not parse: then the
 * other side is not what it said, and nothing that comes after can be trusted either.
 */
export function settle(request: OpenRequest, view: DataView, from: number, end: number, owned: boolean): void {
  const error = view.getInt16(from + 4);
  const body = from + RESPONSE_HEADER_BYTES;
  if (error !== ErrorCodes.NONE) {
    if (body !== end) throw new MillraceError("BAD_RESPONSE", `${request.what()}: error ${error} came with a body`);
    request.reject(brokerError(error, request.what()));
    return;
  }
  switch (request.kind) {
    case RequestKind.PRODUCE_V1:
    case RequestKind.PRODUCE_V2:
      request.resolve(decodeProduceResponse(view, body, end));
      break;
    case RequestKind.FETCH_V1:
    case RequestKind.FETCH_V2:
      request.resolve(fetchAnswer(view, body, end, owned));
      break;
    case RequestKind.FETCH_V3:
      request.resolve(multiFetchAnswer(view, body, end, owned));
      break;
    case RequestKind.METADATA_V1:
      request.resolve(decodeMetadataResponse(1, view, body, end));
      break;
    case RequestKind.METADATA_V2:
      request.resolve(decodeMetadataResponse(2, view, body, end));
      break;
    case RequestKind.HELLO_V1:
      request.resolve(decodeHelloResponse(view, body, end));
      break;
    case RequestKind.LIST_OFFSETS_V1:
      request.resolve(decodeListOffsetsResponse(view, body, end));
      break;
    default:
      unreachable(request, "every request has an answer");
  }
}

function fetchAnswer(view: DataView, from: number, end: number, owned: boolean): FetchAnswer {
  const { highWatermark, payloadFrom, payloadBytes } = decodeFetchResponse(view, from, end);
  const payload = payloadAt(view, payloadFrom, payloadBytes, owned);
  holdsBatches(payload.buffer, 1);
  return { highWatermark, payload };
}

function multiFetchAnswer(view: DataView, from: number, end: number, owned: boolean): MultiFetchAnswer[] {
  const results = decodeMultiFetchResponse(view, from, end);
  const batches = results.filter(({ payloadBytes }) => payloadBytes > 0).length;
  return results.map(({ payloadFrom, payloadBytes, ...rest }) => {
    const payload = payloadAt(view, payloadFrom, payloadBytes, owned);
    // Where it was copied each has memory of its own.
    holdsBatches(payload.buffer, owned ? batches : 1);
    return { ...rest, payload };
  });
}

function payloadAt(view: DataView, from: number, bytes: number, owned: boolean): Uint8Array {
  const payload = new Uint8Array(view.buffer, view.byteOffset + from, bytes);
  // Where it lies the next read would overwrite it.
  return owned ? payload : payload.slice();
}
