// A broker started from code, as a program that embeds it does: everything by what the package exports.

import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Connection, MillraceError, recordRegion, startBroker } from "../../src/index.js";
import { testSettings } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";

describe("startBroker", () => {
  it("gives a broker that the package's own client can use, and its figures", async () => {
    const lines: string[] = [];
    const take = (_fields: object, message: string): void => void lines.push(message);
    const broker = await startBroker({
      settings: { ...testSettings(tempDir("embedded")), topics: { orders: { partitions: 2, visibility: "durable" } } },
      log: { debug: take, info: take, warn: take, error: take },
    });
    const connection = await Connection.connect({ broker: `127.0.0.1:${broker.port}` });
    const { baseOffset } = await connection.produce("orders", 1, recordRegion(["first", "second"]));
    expect(baseOffset).toBe(0);
    await connection.close();
    expect(broker.statistics()).toMatchObject({ produceRequests: 1, produceRecords: 2, connectionsAccepted: 1 });
    expect(await broker.stop()).toBe(true);
    expect(lines.join("\n")).not.toContain("undefined");
  });

  it("rejects with a line for each problem of its settings", async () => {
    const refused = startBroker({ settings: { prot: 1, segment: { bytes: "1 parsec" } } as object });
    await expect(refused).rejects.toBeInstanceOf(MillraceError);
    await expect(refused).rejects.toMatchObject({ code: "BAD_CONFIG" });
    const { message } = (await refused.catch((error: unknown) => error)) as Error;
    expect(message.split("\n")).toEqual([
      expect.stringContaining("prot: no such setting (startBroker); did you mean port?"),
      expect.stringContaining('segment.bytes: got "1 parsec" (startBroker); takes a size'),
    ]);
  });

  it("leaves nothing open when it cannot listen", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as { port: number };
    const settings = testSettings(tempDir("embedded"));
    for (const key of ["port", "ops.port"]) {
      const refused = startBroker({ settings: { ...settings, "ops.enabled": key === "ops.port", [key]: port } });
      await expect(refused).rejects.toMatchObject({
        code: "LISTEN_FAILED",
        message: expect.stringContaining(`${port}`),
      });
    }
    const broker = await startBroker({ settings });
    expect(await broker.stop()).toBe(true);
  });

  it("names the setting of the socket that it cannot have, and leaves nothing open", async () => {
    const settings = testSettings(tempDir("embedded"));
    const path = "/nowhere/at/all.sock";
    await expect(startBroker({ settings: { ...settings, "socket.path": path } })).rejects.toMatchObject({
      code: "LISTEN_FAILED",
      message: expect.stringMatching(/^socket\.path \/nowhere\/at\/all\.sock: cannot listen: (?!.*port)/),
    });
    const broker = await startBroker({ settings });
    expect(await broker.stop()).toBe(true);
  });

  it("rejects DATA_DIR_IN_USE on a directory that this process has open itself", async () => {
    const settings = testSettings(tempDir("embedded"));
    const broker = await startBroker({ settings });
    await expect(startBroker({ settings })).rejects.toMatchObject({
      code: "DATA_DIR_IN_USE",
      message: expect.stringContaining(`process ${process.pid}`),
    });
    await broker.stop();
  });
});
