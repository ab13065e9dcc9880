// From an answer's bytes to what its request is waiting for.

import { ErrorCodes } from "../model/error-codes.js";
import { MillraceError } from "../model/errors.js";
import { unreachable } from "../model/invariant.js";
import { RequestKind } from "../protocol/api-keys.js";
import { decodeFetchResponse } from "../protocol/fetch.js";
import { RESPONSE_HEADER_BYTES } from "../protocol/frame.js";
import { decodeHelloResponse } from "../protocol/hello.js";
import { decodeMetadataResponse } from "../protocol/metadata.js";
import { decodeProduceResponse } from "../protocol/produce.js";
import { brokerError } from "./errors.js";
import type { FetchAnswer, OpenRequest } from "./request-queue.js";

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
      request.resolve(decodeProduceResponse(view, body, end));
      break;
    case RequestKind.FETCH_V1:
      request.resolve(fetchAnswer(view, body, end, owned));
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
    default:
      unreachable(request, "every request has an answer");
  }
}

function fetchAnswer(view: DataView, from: number, end: number, owned: boolean): FetchAnswer {
  const { highWatermark, payloadFrom, payloadBytes } = decodeFetchResponse(view, from, end);
  const payload = new Uint8Array(view.buffer, view.byteOffset + payloadFrom, payloadBytes);
  // Where it lies the next read would overwrite it.
  return { highWatermark, payload: owned ? payload : payload.slice() };
}
