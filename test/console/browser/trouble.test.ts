// What the console says when something is wrong: nobody there, a broker that starts or stops, a partition that refused or is
// poisoned, offsets as large as they get.

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { BrokerInfo, PartitionPage } from "../../../src/ops/api/types.js";
import { connectTo, runBroker, spawnReady, testSettings } from "../../support/broker.js";
import { ascii } from "../../support/bytes.js";
import { tempDir } from "../../support/tmp.js";
import { produce } from "../../support/wire.js";
import { documentScreenshot, screenshot, useChromium, visit } from "./chromium.js";

useChromium();

const ops = { "ops.enabled": true, "ops.port": 0 };
/** What the page asks for each second. */
const SLOWLY = { timeout: 15_000 };
const banner = (page: Page): Promise<string> => page.locator(".banner").first().innerText();

describe("the console of a broker", () => {
  it("that cannot be reached says so, keeps what it showed, and comes back with it", async () => {
    const dataDir = tempDir("gone");
    const first = await spawnReady({ ...testSettings(dataDir), ...ops });
    const { page } = await visit(first.opsPort, "#/topics/orders/0");
    await page.getByText("nothing removed").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    first.kill("SIGKILL");
    await first.exited;
    await page.getByText("The broker cannot be reached.").waitFor();
    expect(await page.locator(".pill").first().innerText()).toBe("unreachable");
    expect(await banner(page)).toMatch(
      /For \d+ s now: no connection\. What you see is from \d\d:\d\d:\d\d\. Asking again every 2 s\./,
    );
    expect(await page.getByText("nothing removed").count()).toBe(1);
    await documentScreenshot(page, "unreachable");
    const again = await spawnReady({ ...testSettings(dataDir), ...ops, "ops.port": first.opsPort });
    await expect.poll(() => page.getByRole("alert").count(), { timeout: 15_000 }).toBe(0);
    expect(await page.locator(".pill").first().innerText()).toBe("ready");
    expect(await again.stop()).toBe(0);
  });

  it("that hangs counts as unreachable, too", async () => {
    const broker = await spawnReady({ ...testSettings(tempDir("hangs")), ...ops });
    const { page } = await visit(broker.opsPort);
    await expect.poll(() => page.locator(".pill").first().innerText()).toBe("ready");
    broker.kill("SIGSTOP");
    await page.getByText("no answer within 5 s").waitFor();
    broker.kill("SIGCONT");
    await expect.poll(() => page.locator(".pill").first().innerText(), { timeout: 15_000 }).toBe("ready");
  });

  it("that lacks a topic or a partition says so on each of its pages, with a way back, and comes when it is there", async () => {
    const broker = await runBroker(ops);
    const { page } = await visit(broker.opsPort, "#/topics/ordres");
    for (const path of ["#/topics/ordres", "#/topics/ordres/tail", "#/topics/ordres/0", "#/topics/orders/7/records"]) {
      await page.evaluate((to) => location.assign(to), path);
      const what = /\d/.test(path) ? "No such partition" : "No such topic";
      await expect.poll(() => page.locator("h1").first().innerText()).toBe(what);
      expect(await page.locator('main [role="grid"], main .button, main nav').count()).toBe(0);
    }
    await page.getByRole("link", { name: "Topic orders" }).click();
    await expect.poll(() => page.locator("h1").first().innerText()).toBe("orders");
    await page.evaluate(() => location.assign("#/topics/ordres"));
    await page.getByRole("link", { name: "All topics" }).click();
    await expect.poll(() => page.locator("h1").first().innerText()).toBe("Topics");
  });

  it("that answers what cannot be drawn costs one page, and says so", async () => {
    const broker = await runBroker(ops);
    const { page } = await visit(broker.opsPort, "#/topics");
    await page.locator(".rows .row").first().waitFor();
    await page.route("**/api/topics/orders?*", (route) => route.fulfill({ json: { topic: null, partitions: [] } }));
    await page.evaluate(() => location.assign("#/topics/orders"));
    await page.getByText("This page cannot be shown.").waitFor();
    expect(await page.locator(".failed").innerText()).toMatch(/The console failed to draw it: .*null.*Everything else/);
    expect(await page.locator(".pill").first().innerText()).toBe("ready");
    // Keys lead on, and what was broken is tried anew.
    await page.keyboard.press("g");
    await page.keyboard.press("b");
    await expect.poll(() => page.locator("h1").first().innerText()).toBe("Broker");
    expect(await page.locator(".failed").count()).toBe(0);
    await page.goBack();
    await page.getByText("This page cannot be shown.").waitFor();
    await page.unroute("**/api/topics/orders?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => page.locator("h1").first().innerText()).toBe("orders");
  });

  it("that began anew while nobody looked, and has more samples than the page had seen, is charted from its start", async () => {
    const broker = await runBroker(ops);
    const { page, asked } = await visit(broker.opsPort, "#/topics");
    await page.locator(".rows .row").first().waitFor();
    const run = { pid: 1, samples: 50 };
    await page.route("**/api/broker", async (route) => {
      const info = (await (await route.fetch()).json()) as BrokerInfo;
      await route.fulfill({ json: { ...info, pid: run.pid } });
    });
    await page.route("**/api/rates?*", (route) => {
      const first = Number(new URL(route.request().url()).searchParams.get("since"));
      const next = run.samples;
      const atMs = Array.from({ length: next - first }, (_, i) => Date.now() - (next - first - i) * 1000);
      return route.fulfill({ json: { intervalMs: 1000, first, next, atMs, columns: {} } });
    });
    const look = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    // The page knows which run it is before it sees a row of it.
    await page.waitForResponse("**/api/broker");
    await page.waitForResponse("**/api/broker");
    await page.evaluate(() => location.assign("#/"));
    const since = () => asked.filter((url) => url.includes("/rates?")).map((url) => url.replace(/.*since=/, ""));
    await expect.poll(() => since().at(-1), SLOWLY).toBe("50");
    expect(since().filter((each) => each === "0")).toHaveLength(1);
    await look(true);
    await page.waitForTimeout(1_500);
    Object.assign(run, { pid: 2, samples: 90 });
    await look(false);
    await expect.poll(() => since().at(-1), SLOWLY).toBe("90");
    expect(since().filter((each) => each === "0")).toHaveLength(2);
    // The same broker, after a while: nothing is asked for twice.
    await look(true);
    await page.waitForTimeout(1_500);
    run.samples = 130;
    await look(false);
    await expect.poll(() => since().at(-1), SLOWLY).toBe("130");
    expect(since().filter((each) => each === "0")).toHaveLength(2);
  });

  it("that starts or stops says which", async () => {
    const broker = await runBroker(ops);
    const { page } = await visit(broker.opsPort);
    await expect.poll(() => page.locator(".pill").first().innerText()).toBe("ready");
    await page.route("**/api/broker", async (route) => {
      const info = (await (await route.fetch()).json()) as BrokerInfo;
      await route.fulfill({ json: { ...info, ready: false, stopping: true, reasons: ["the broker is stopping"] } });
    });
    await page.getByText("The broker is stopping.").waitFor();
    await page.unroute("**/api/broker");
    await page.route("**/api/broker", (route) =>
      route.fulfill({ status: 503, json: { error: "partitions are being opened", code: "NOT_READY" } }),
    );
    await page.getByText("The broker is starting: its partitions are being opened.").waitFor();
  });

  it("with a partition that refused, and one that is poisoned, names both and why", async () => {
    const dataDir = tempDir("trouble");
    await (await runBroker({ "data.dir": dataDir, topics: "orders:3" })).stop();
    writeFileSync(join(dataDir, "orders-1", "partition.json"), "{");
    const broker = await runBroker({ ...ops, "data.dir": dataDir, topics: "orders:3" });
    const wire = await connectTo(broker);
    const forced = async (): Promise<number> => (await wire.ask(produce([ascii("x")], { partition: 2, ack: 2 }))).error;
    expect(await forced()).toBe(0);
    rmSync(join(dataDir, "orders-2"), { recursive: true });
    await expect.poll(forced, { timeout: 10_000 }).not.toBe(0);
    const { page } = await visit(broker.opsPort, "#/topics/orders");
    await page.getByText("orders-1 refused to open: ").first().waitFor();
    await page.getByText("orders-2 refuses writes: ").first().waitFor();
    expect(await page.locator(".pill").first().innerText()).toBe("impaired");
    const states = () => page.locator(".rows .sign").allInnerTexts();
    await expect.poll(states).toEqual(["open", "refused", "poisoned"]);
    await screenshot(page, "trouble");
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/orders/1`);
    await page.getByText("This partition refused to open.").waitFor();
    expect(await page.locator("main [role=alert]").innerText()).toContain("partition.json");
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/orders/2`);
    await page.getByText("This partition takes no writes since one failed.").waitFor();
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/orders/tail?partition=1`);
    await page.locator(".tail-status").getByText("refused", { exact: true }).waitFor();
    expect(await page.locator(".tail-status").innerText()).toContain("orders-1 refused to open");
  });

  it("with offsets as large as they get shows them in full", async () => {
    const broker = await runBroker(ops);
    const { page } = await visit(broker.opsPort, "#/topics", { width: 1280 });
    const end = Number.MAX_SAFE_INTEGER;
    const start = end - 5_000_000;
    await page.route("**/partitions/0?*", async (route) => {
      const real = (await (await route.fetch()).json()) as PartitionPage;
      const segments = Array.from({ length: 5000 }, (_, i) => ({
        ...real.segments[0],
        baseOffset: start + i * 1000,
        endOffset: start + (i + 1) * 1000,
        active: i === 4999,
        sealed: i < 4999,
      }));
      const partition = {
        ...real.partition,
        logStartOffset: start,
        highWatermark: end - 7,
        durableOffset: end - 70,
        logEndOffset: end,
        segments: 5000,
      };
      await route.fulfill({ json: { ...real, partition, segments } });
    });
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/orders/0`);
    await page.getByText("70 behind the end").waitFor();
    expect(await page.locator(".facts").innerText()).toContain("9,007,199,254,740,991");
    // Thousands of segments are some hundred shapes, and as many rows as are in view.
    const shapes = await page.locator(".strip").first().locator(".block").count();
    expect(shapes).toBeGreaterThan(50);
    expect(shapes).toBeLessThan(1_000);
    expect(await page.locator(".rows .row").count()).toBeLessThan(80);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    await screenshot(page, "huge-offsets");
    // A click on the picture brings its segment into the list's view.
    await page.locator(".strip").first().locator(".block").nth(2).click();
    await expect.poll(() => page.locator('[aria-selected="true"]').innerText()).toMatch(/^9,007,199,249,7\d\d,991\n/);
    const box = await page.locator('[aria-selected="true"]').boundingBox();
    expect(box?.y).toBeLessThan(820);
    expect(box?.y).toBeGreaterThan(400);
  });
});
