// Where a broker is, as text.

import { describe, expect, it } from "vitest";
import { addressText, parseBrokerAddress } from "../../src/client/address.js";

describe("a broker's address", () => {
  it.each([
    ["127.0.0.1:4711", { host: "127.0.0.1", port: 4711 }, "127.0.0.1:4711"],
    ["broker.example", { host: "broker.example", port: 4710 }, "broker.example:4710"],
    ["[::1]:99", { host: "::1", port: 99 }, "[::1]:99"],
    ["[fe80::1%eth0]", { host: "fe80::1%eth0", port: 4710 }, "[fe80::1%eth0]:4710"],
    ["/run/millrace.sock", { path: "/run/millrace.sock" }, "/run/millrace.sock"],
    ["./m.sock", { path: "./m.sock" }, "./m.sock"],
  ])("%s is understood", (text, address, shown) => {
    expect(parseBrokerAddress(text)).toEqual(address);
    expect(addressText(address)).toBe(shown);
  });

  it.each([
    "",
    ":4710",
    "host:",
    "host:0",
    "host:65536",
    "host:1x",
    "a:b:c",
    "::1",
    "ho st:1",
    "[::1",
    "host:-1",
    "http://host:4710",
    "host:4710\n",
    "/run/m\0.sock",
    "unix:/run/m.sock",
    `/run/${"m".repeat(103)}`,
    `/run/${"é".repeat(52)}`,
  ])("%j is refused", (text) =>
    expect(() => parseBrokerAddress(text)).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" })),
  );
});
