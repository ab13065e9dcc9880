// Records in the console: searched by offset and time, shown as text, JSON and hex, and as they come, also when they come faster
// than anybody reads.

import type { Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectTo } from "../../support/broker.js";
import { ascii } from "../../support/bytes.js";
import { produce } from "../../support/wire.js";
import { documentScreenshot, useChromium, visit } from "./chromium.js";
import { put, stocked } from "./data.js";

useChromium();

const payload = (page: Page): Promise<string> => page.locator(".payload pre").innerText();
const firstRow = (page: Page) => page.locator(".rows .row").first();

describe("search", () => {
  it("finds an offset, written as people write it, and says what there is when there is none", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/orders/0/records");
    await page.getByLabel("Offset").fill("1,234");
    await page.keyboard.press("Enter");
    await expect.poll(() => firstRow(page).innerText()).toMatch(/^1,234\n/);
    expect(JSON.parse(await payload(page))).toMatchObject({ id: 1234, currency: "EUR" });
    await page.getByText("Here: 1,234 to 1,433; 0 to 3,999 can be read.").waitFor();
    await page.getByLabel("Offset").fill("99999");
    await page.keyboard.press("Enter");
    // One range, and not also the broker's, which ends where the log does.
    const status = page.locator("p.note");
    await expect.poll(() => status.innerText()).toBe("There is no record 99,999 here. 0 to 3,999 can be read.");
    await page.getByLabel("Offset").fill("no offset");
    await page.getByText("An offset is a whole number from 0 on, such as 1,234.").waitFor();
    expect(await page.getByLabel("Offset").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Offset").fill("17");
    expect(await page.locator("#offset-wrong").count()).toBe(0);
  });

  it("finds a time", async () => {
    const { broker, wire } = await stocked();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const between = Date.now() - 1_000;
    await put(wire, [ascii("after the pause")], { topic: "orders" });
    const { page } = await visit(broker.opsPort, "#/topics/orders/0/records");
    const iso = new Date(between).toISOString().slice(0, 19).replace("T", " ");
    await page.getByLabel("Time").fill(iso);
    await page.getByText(iso).waitFor();
    await page.keyboard.press("Enter");
    await page.getByText(`Records from ${iso} on begin here`).waitFor();
    // Never too late; how much too early the index allows is the broker's to say.
    await expect.poll(() => page.locator(".rows .row").last().innerText()).toContain("after the pause");
    await page.getByLabel("Time").fill("2100-01-01");
    await page.keyboard.press("Enter");
    await page.getByText("All records are older than 2100-01-01 00:00:00.").waitFor();
    await page.getByLabel("Time").fill("2026-02-30 14:05");
    await page.getByText("There is no 2026-02-30.").waitFor();
    expect(await page.getByLabel("Time").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Time").fill("soon");
    await page.getByText("Write 2026-01-31 14:05, 14:05:30, 15m ago, or milliseconds since 1970.").waitFor();
  });

  it("goes through pages to both ends", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/orders/0/records");
    await expect.poll(() => firstRow(page).innerText()).toMatch(/^0\n/);
    await page.getByRole("button", { name: "Next →" }).click();
    await expect.poll(() => firstRow(page).innerText()).toMatch(/^200\n/);
    await page.getByRole("button", { name: "Latest" }).click();
    await expect.poll(() => firstRow(page).innerText()).toMatch(/^3,800\n/);
    await page.getByRole("button", { name: "Earliest" }).click();
    await expect.poll(() => firstRow(page).innerText()).toMatch(/^0\n/);
    expect(await page.getByRole("button", { name: "← Before" }).isDisabled()).toBe(true);
  });
});

describe("a payload", () => {
  it("is shown as what it seems to be, and as text, JSON or hex when asked", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/readings/0/records");
    await expect.poll(() => payload(page)).toBe("GET /index.html 200");
    await page.getByText("JSON", { exact: true }).click();
    await page.getByText(/^Not JSON: /).waitFor();
    await page.getByText("Hex", { exact: true }).click();
    await expect
      .poll(() => payload(page))
      .toBe(
        "00000000  47 45 54 20 2f 69 6e 64  65 78 2e 68 74 6d 6c 20  GET /index.html \n00000010  32 30 30                                          200",
      );
    await page.reload();
    await page.locator(".rows .row").nth(2).click();
    await expect.poll(() => payload(page)).toMatch(/^00000000 {2}00 07 0e 15/);
    await page.locator(".rows .row").nth(3).click();
    // As it was written: no number rounded, no key lost.
    await expect.poll(() => payload(page)).toBe('{\n  "big": 12345678901234567890,\n  "twice": 1,\n  "twice": 2\n}');
  });

  it("is fetched whole when its beginning is not enough", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/readings/0/records?offset=4");
    await page.getByText("The first 4 KiB of 19.5 KiB.").waitFor();
    await page.getByRole("button", { name: "Fetch all" }).click();
    await page.getByRole("button", { name: /^Show more/ }).click();
    await expect.poll(async () => (await payload(page)).length).toBe(20_000);
  });
});

describe("JSON that is nested thousands of times", () => {
  const nested = (depth: number): Uint8Array => ascii("[".repeat(depth) + "]".repeat(depth));

  it("is shown as text, says why, and keeps nothing else from being shown", async () => {
    const { broker, wire } = await stocked();
    await put(wire, [nested(3_000), nested(20_000)], { topic: "clicks" });
    const { page, errors } = await visit(broker.opsPort, "#/topics/clicks/0/records");
    await page.getByRole("button", { name: "Fetch all" }).click();
    await page.getByText("JSON that is nested too deep (more than 100). As text:").waitFor();
    expect(await payload(page)).toBe("[".repeat(3_000) + "]".repeat(3_000));
    await page.locator(".rows .row").nth(1).click();
    await page.getByRole("button", { name: "Fetch all" }).click();
    await page.getByText("JSON", { exact: true }).click();
    await page.getByRole("button", { name: /^Show more/ }).click();
    await page.getByText("JSON that is nested too deep (more than 100). As text:").waitFor();
    await expect.poll(async () => (await payload(page)).length).toBe(40_000);
    await page.getByRole("link", { name: "Broker", exact: true }).click();
    await expect.poll(() => page.locator("h1").first().innerText()).toBe("Broker");
    expect(errors).toEqual([]);
  });
});

describe("the live tail", () => {
  it("shows a record within a second", async () => {
    const { broker, wire } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/orders/tail");
    await page.locator(".tail-status").getByText("live", { exact: true }).waitFor();
    // Seen by the page itself: the test's own way to it is not part of the second.
    await page.evaluate(() => {
      const look = new MutationObserver(() => {
        if (!document.body.innerText.includes("fresh as can be")) return;
        document.body.dataset.seen ??= String(Date.now());
      });
      look.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    const since = Date.now();
    await put(wire, [ascii("fresh as can be")], { topic: "orders", partition: 2 });
    await expect.poll(() => page.evaluate(() => Number(document.body.dataset.seen ?? 0))).toBeGreaterThan(0);
    const seen = await page.evaluate(() => Number(document.body.dataset.seen));
    expect(seen - since).toBeLessThan(1_000);
  });

  it("holds still when a record is chosen, and goes on", async () => {
    const { broker, wire } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/orders/tail?partition=1");
    await expect.poll(() => firstRow(page).innerText()).toMatch(/\n2\n/);
    await firstRow(page).click();
    await put(wire, [ascii("one more")], { topic: "orders", partition: 1 });
    await page.getByText("Held: 1 came since.").waitFor();
    expect(await page.locator(".rows .row").count()).toBe(3);
    // Clearing leaves it held.
    await page.keyboard.press("x");
    await page.getByText("Nothing is kept here, and what comes is held back. Go on to see it.").waitFor();
    await put(wire, [ascii("and another")], { topic: "orders", partition: 1 });
    await page.getByText("Held: 1 came since.").waitFor();
    expect(await page.locator(".rows .row").count()).toBe(0);
    await page.getByRole("button", { name: "Go on" }).click();
    await expect.poll(() => firstRow(page).innerText()).toContain("and another");
    await page.getByLabel("Partitions").fill("7");
    await page.getByText("Write numbers and ranges from 0 to 2, such as 0,2,5-7.").waitFor();
  });

  it("keeps up with 100 000 records in a second by a sample, and says so", async () => {
    const { broker } = await stocked({
      "segment.bytes": "16MiB",
      "max.frame.bytes": "1MiB",
      "retention.bytes": "32MiB",
    });
    const wire = await connectTo(broker);
    const batch = produce(
      Array.from({ length: 5_000 }, (_, i) => ascii(`record ${i}`)),
      { topic: "clicks", partition: 1 },
    );
    let stopped = false;
    let sent = 0;
    const since = performance.now();
    const flood = async (): Promise<void> => {
      while (!stopped) {
        await wire.ask(batch);
        sent += 5_000;
        const ahead = (sent / 150_000) * 1000 - (performance.now() - since);
        if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
      }
    };
    const done = flood();
    onTestFinished(async () => {
      stopped = true;
      await done;
    });
    const { page, errors } = await visit(broker.opsPort, "#/topics/clicks/tail");
    await page.locator(".tail-status[data-sampled=true]").waitFor();
    const status = () => page.locator(".tail-status").innerText();
    await expect
      .poll(status, { timeout: 30_000 })
      .toMatch(/1\d\d k records\/s\s+Sampled: \d+ of 1\d\d k a second are shown/);
    await documentScreenshot(page, "tail-sampled");
    // The page answers keys while it comes.
    const frames = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          let drawn = 0;
          const frame = (): void => {
            drawn++;
            requestAnimationFrame(frame);
          };
          requestAnimationFrame(frame);
          setTimeout(() => resolve(drawn), 2_000);
        }),
    );
    expect(frames).toBeGreaterThan(20);
    expect(await page.locator(".rows .row").count()).toBeLessThan(80);
    expect(errors).toEqual([]);
  });
});
