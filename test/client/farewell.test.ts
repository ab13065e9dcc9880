// A connection whose broker has said that it stops: nothing is carried out behind what it refused so.

import { describe, expect, it, onTestFinished } from "vitest";
import { Connection } from "../../src/client/connection.js";
import { Producer } from "../../src/client/producer/producer.js";
import { recordRegion } from "../../src/client/record-region.js";
import { ErrorCodes } from "../../src/model/error-codes.js";
import { errorAnswer, FakeBroker } from "../support/fake-broker.js";
import { until } from "../support/waiting.js";
import { backendOf, codeOf, isProduce, texts } from "./producer/backends.js";

const one = recordRegion(["x"]);

async function connected() {
  const broker = await FakeBroker.start();
  const connection = await Connection.connect({ broker: broker.address });
  onTestFinished(() => connection.destroy());
  return { broker, connection };
}

describe("a connection that was told SHUTTING_DOWN", () => {
  it("takes no request any more, closes its side, and says why it is gone", async () => {
    const { broker, connection } = await connected();
    const [socket] = broker.sockets;
    let isEnded = false;
    socket.once("end", () => {
      isEnded = true;
    });
    broker.refuse = (request) => (isProduce(request) ? ErrorCodes.SHUTTING_DOWN : undefined);
    expect(await codeOf(connection.produce("orders", 0, one))).toBe("SHUTTING_DOWN");
    const before = broker.requests.length;
    expect(await codeOf(connection.produce("orders", 0, one))).toBe("SHUTTING_DOWN");
    expect(await codeOf(connection.metadata())).toBe("SHUTTING_DOWN");
    expect(() => connection.post("orders", 0, one)).toThrow(expect.objectContaining({ code: "SHUTTING_DOWN" }));
    await until("the broker sees its end", () => isEnded);
    expect(await connection.closed).toMatchObject({ code: "SHUTTING_DOWN", retriable: true });
    expect(broker.requests).toHaveLength(before);
    await connection.close();
  });

  it("takes the answers that still come; what has none when the broker is gone was refused, too", async () => {
    const { broker, connection } = await connected();
    let taken = 0;
    broker.intercept = ({ kind, correlationId, socket }) => {
      if (!isProduce({ kind })) return false;
      taken++;
      if (taken === 2) socket.write(errorAnswer(correlationId - 1, ErrorCodes.SHUTTING_DOWN));
      if (taken === 4) {
        socket.write(errorAnswer(correlationId - 2, ErrorCodes.LOG_FULL));
        setTimeout(() => broker.cut(), 20);
      }
      return true;
    };
    const sent = Array.from({ length: 4 }, () => codeOf(connection.produce("orders", 0, one)));
    expect(await Promise.all(sent)).toEqual(["SHUTTING_DOWN", "LOG_FULL", "SHUTTING_DOWN", "SHUTTING_DOWN"]);
  });

  it("is not waited for without end", async () => {
    const { broker, connection } = await connected();
    broker.intercept = ({ kind, correlationId, socket }) => {
      if (!isProduce({ kind })) return false;
      if (broker.requests.length === 2) socket.write(errorAnswer(correlationId, ErrorCodes.SHUTTING_DOWN));
      socket.pause();
      socket.allowHalfOpen = true;
      return true;
    };
    const sent = Array.from({ length: 2 }, () => codeOf(connection.produce("orders", 0, one)));
    expect(await Promise.all(sent)).toEqual(["SHUTTING_DOWN", "SHUTTING_DOWN"]);
    expect(await connection.closed).toMatchObject({ code: "SHUTTING_DOWN" });
  });
});

describe("a producer whose broker stops", () => {
  it("P06 sends nothing over another link while an answer is due on this one, and all of it in order then", async () => {
    const broker = await FakeBroker.start();
    const producer = new Producer(backendOf(broker), { lingerMs: 0, requestsInFlight: 3 });
    onTestFinished(() => producer.destroy());
    await producer.batch("orders", ["warm"], { partition: 0 });
    let taken = 0;
    broker.refuse = (request) => (isProduce(request) && taken < 3 ? ErrorCodes.SHUTTING_DOWN : undefined);
    broker.intercept = (request) => {
      if (!isProduce(request) || ++taken > 3) return false;
      if (taken === 1) request.socket.allowHalfOpen = true;
      // The two behind it are not answered for a while.
      if (taken === 3) setTimeout(() => broker.cut(), 300);
      return taken > 1;
    };
    const sent = Array.from({ length: 5 }, (_, i) => codeOf(producer.batch("orders", [`${i}`], { partition: 0 })));
    await until("three are there", () => taken === 3);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(broker.connections).toBe(1);
    expect(await Promise.all(sent)).toEqual(Array(5).fill("sent"));
    expect(texts(broker)).toEqual(["warm", "0", "1", "2", "3", "4"]);
    expect(broker.connections).toBe(2);
  });
});
