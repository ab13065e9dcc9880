// Backends for tests: a connection to whatever listens there, and how records look in a played broker.

import { Connection } from "../../../src/client/connection.js";
import type { ConnectionOptions } from "../../../src/client/connection-options.js";
import type { Backend, Link } from "../../../src/client/link.js";
import { ErrorCodes } from "../../../src/model/error-codes.js";
import { RequestKind } from "../../../src/protocol/api-keys.js";
import { errorAnswer, type FakeBroker, type FakeRequest } from "../../support/fake-broker.js";

export interface CountingBackend extends Backend {
  readonly links: Link[];
}

/** Connects to `address`, which may change. */
export function backendOf(target: { readonly address: string }, options: ConnectionOptions = {}): CountingBackend {
  const links: Link[] = [];
  return {
    get address() {
      return target.address;
    },
    links,
    connect: async () => {
      const link = await Connection.connect({ ...options, broker: target.address });
      links.push(link);
      return link;
    },
  };
}

export const isProduce = ({ kind }: { readonly kind: number }): boolean =>
  kind === RequestKind.PRODUCE_V1 || kind === RequestKind.PRODUCE_V2;

export const texts = (broker: FakeBroker, partition = 0, topic = "orders"): string[] =>
  broker.log(topic, partition).map((record) => Buffer.from(record).toString());

/** The error's code; a promise that resolves is "sent". */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "sent",
    (error: { code?: string }) => error.code ?? String(error),
  );

/** Answers a request with an error. */
export function refuse(request: FakeRequest, error: keyof typeof ErrorCodes): void {
  request.socket.write(errorAnswer(request.correlationId, ErrorCodes[error]));
}
