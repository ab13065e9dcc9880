// Every page of the console in Chromium, with what a real broker answers: what it shows, in light and dark, wide and narrow, and
// that nothing is asked of any other machine.

import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { documentScreenshot, leftTheMachine, screenshot, useChromium, visit } from "./chromium.js";
import { keepBusy, LONG_NAME, type Stocked, stocked } from "./data.js";

useChromium();

const text = (page: Page, selector: string): Promise<string> => page.locator(selector).first().innerText();
/** A list's cells, row by row, of those in view. */
const cells = (page: Page, label: string): Promise<string[][]> =>
  page
    .getByRole("grid", { name: label, exact: true })
    .locator(".rows .row")
    .evaluateAll((rows) => rows.map((row) => Array.from(row.children, (cell) => (cell as HTMLElement).innerText)));

const expectCells = async (page: Page, label: string, wanted: unknown): Promise<void> =>
  expect.poll(() => cells(page, label), { timeout: 15_000 }).toEqual(wanted);

const tiles = async (page: Page): Promise<Record<string, string>> =>
  Object.fromEntries(
    await page
      .locator(".facts > div, .tile")
      .evaluateAll((all) =>
        all.map((each) => [each.children[0].textContent, (each.children[1] as HTMLElement).innerText]),
      ),
  );

describe("the console", () => {
  it("shows at a glance what the broker does now and did in the last minutes", async () => {
    const stock = await stocked();
    await keepBusy(stock);
    const { page, errors } = await visit(stock.broker.opsPort);
    await expect
      .poll(async () => (await tiles(page))["Records in"], { timeout: 20_000 })
      .toMatch(/^[1-9]\d*\/s\n[\d.]+ KiB\/s$/);
    await expect.poll(async () => (await tiles(page))["Produce forced, p99"]).toMatch(/^[\d.]+ (µs|ms|s)\np50 /);
    const { "Disk available": disk, "Waiting fetches": waiting } = await tiles(page);
    expect([disk, waiting]).toEqual([
      expect.stringMatching(/^[\d.]+ [GT]iB\nabove the reserve$/),
      expect.stringMatching(/^[01]\n2 connections$/),
    ]);
    const charts = await page.locator(".chart h3").allInnerTexts();
    expect(charts).toEqual(
      expect.arrayContaining([
        "Records in",
        "Produce, forced",
        "Produce, written",
        "Event loop delay",
        "Waiting fetches",
        "Disk available",
      ]),
    );
    // Something is drawn, and the legend goes on with the numbers.
    const drawn = () =>
      page
        .locator(".chart canvas")
        .first()
        .evaluate((element) => {
          const { data } = (element as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, 300, 100) ?? {
            data: [],
          };
          return data.some((value) => value !== 0);
        });
    expect(await drawn()).toBe(true);
    await expect.poll(() => text(page, ".chart dd")).toMatch(/^[1-9]\d*\/s$/);
    expect(await text(page, ".pill")).toBe("ready");
    expect(errors).toEqual([]);
  });

  it("lists topics with what they hold, and finds one by its name", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics");
    const plain = ["crc32c", "written", "all", "open"];
    await expectCells(page, "Topics", [
      ["clicks", "2", "0", "0 B", ...plain],
      ["empty", "1", "0", "0 B", ...plain],
      ["orders", "3", "4,003", expect.stringMatching(/ KiB$/), ...plain],
      ["readings", "1", "5", expect.stringMatching(/ KiB$/), ...plain],
      [LONG_NAME, "1", "1", "27 B", ...plain],
    ]);
    await page.getByRole("searchbox").fill("re");
    await expect.poll(async () => (await cells(page, "Topics")).map(([name]) => name)).toEqual(["readings", LONG_NAME]);
  });

  it("draws a partition's segments to scale, and says where its offsets stand", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/orders/0");
    await expect.poll(async () => (await tiles(page)).End, { timeout: 15_000 }).toBe("4,000\n4,000 records");
    expect(await tiles(page)).toMatchObject({
      Start: "0\nnothing removed",
      "High watermark": "4,000\nat the end",
      Epoch: "0\nthe first",
    });
    const listed = (await cells(page, "Segments")).map(([first, end]) =>
      [first, end].map((each) => Number(each.replace(",", ""))),
    );
    expect(listed.length).toBeGreaterThan(3);
    // As wide as they have offsets, to two pixels.
    const { width } = (await page.locator(".bar").first().boundingBox()) ?? { width: 0 };
    const widths = await page
      .locator(".strip")
      .first()
      .locator(".block")
      .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().width));
    expect(widths).toHaveLength(listed.length);
    widths.forEach((each, at) => {
      const [first, end] = listed[at];
      expect(Math.abs(each - (width * (end - first)) / 4000)).toBeLessThan(2);
    });
    const names = await page.locator(".bar").first().getAttribute("aria-label");
    expect(names).toContain("start at 0; ");
    expect(names).toMatch(/high watermark.*end at 4000\.$/);
  });

  it("shows a topic without records, a partition that is not there, and a page that is none", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/topics/empty/0");
    await expect.poll(async () => (await tiles(page)).End, { timeout: 15_000 }).toBe("0\n0 records");
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/empty/0/records`);
    await page.getByText("No records yet. They show here when they come.").waitFor();
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/empty/7`);
    await page.getByText("topic empty has no partition 7").waitFor();
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/nothing`);
    await page.getByText('there is no topic "nothing"').waitFor();
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/elsewhere`);
    await page.getByText("There is no page /elsewhere.").waitFor();
  });

  it("shows thousands of partitions, those in view alone", async () => {
    const { broker } = await stocked({
      topics: "many:2000,orders:3,clicks:1,readings:1,empty:1,".concat(LONG_NAME, ":1"),
    });
    const { page } = await visit(broker.opsPort, "#/topics/many");
    await expect.poll(async () => (await cells(page, "Partitions")).length, { timeout: 20_000 }).toBeGreaterThan(5);
    expect(await page.getByRole("grid").getAttribute("aria-rowcount")).toBe("2001");
    await page.getByRole("grid").focus();
    await page.keyboard.press("End");
    await expect
      .poll(async () => (await cells(page, "Partitions")).at(-1))
      .toEqual(["1999", "0", "0", "0", "0", "0 B", "1", "0", "open"]);
    expect((await cells(page, "Partitions")).length).toBeLessThan(80);
    await page.keyboard.press("Enter");
    await expect.poll(() => text(page, "h1")).toBe("many/1999");
    await screenshot(page, "many-last");
    // A tail takes some of them; it says which.
    await page.goto(`http://127.0.0.1:${broker.opsPort}/#/topics/many/tail`);
    await page.getByText("Partitions 0 to 63; choose others above.").waitFor();
    await page.getByLabel("Partitions").fill("1990-1999");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("partition=1990%2C1991");
    await page.locator(".tail-status").getByText("live", { exact: true }).waitFor();
  });

  it("shows every setting and where it came from", async () => {
    const { broker } = await stocked();
    const { page } = await visit(broker.opsPort, "#/broker");
    await expect
      .poll(() => cells(page, "Settings"), { timeout: 15_000 })
      .toContainEqual(["segment.bytes", "128KiB", expect.any(String)]);
    expect((await tiles(page)).Process).toContain(String(process.pid));
  });

  it("asks for no page's contents while nobody looks", async () => {
    const { broker } = await stocked();
    const { page, asked } = await visit(broker.opsPort, "#/topics/orders/0");
    await page.locator(".rows .row").first().waitFor();
    const look = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    const contents = () => asked.filter((url) => url.includes("/partitions/")).length;
    await look(true);
    await page.waitForTimeout(1_500);
    const before = contents();
    await page.waitForTimeout(2_500);
    expect(contents()).toBe(before);
    await look(false);
    await expect.poll(contents).toBeGreaterThan(before + 1);
  });

  it("asks nothing of any other machine, and could not", async () => {
    const { broker } = await stocked();
    const { page, asked } = await visit(broker.opsPort);
    for (const hash of [
      "#/topics",
      "#/topics/orders",
      "#/topics/orders/0",
      "#/topics/orders/0/records",
      "#/topics/orders/tail",
      "#/broker",
    ]) {
      await page.goto(`http://127.0.0.1:${broker.opsPort}/${hash}`);
      await page.waitForTimeout(700);
    }
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.filter((url) => !url.startsWith(`http://127.0.0.1:${broker.opsPort}/`))).toEqual([]);
    expect(leftTheMachine()).toEqual([]);
    // The policy that the side port sends, and not good manners.
    const reached = await page.evaluate(() =>
      fetch("http://console.example/").then(
        () => "reached",
        () => "refused",
      ),
    );
    expect(reached).toBe("refused");
    expect(leftTheMachine()).toEqual([]);
    // A page without that policy is seen to ask.
    await page.goto("http://console.example/").catch(() => undefined);
    expect(leftTheMachine()).toEqual(expect.arrayContaining(["http://console.example/"]));
  });
});

/** docs/console.md shows them. */
const DOCUMENTED: ReadonlySet<string> = new Set(["overview", "overview-dark", "partition", "records"]);

describe("the console's looks", () => {
  const pages: readonly (readonly [string, string])[] = [
    ["overview", "#/"],
    ["topics", "#/topics"],
    ["topic", "#/topics/orders"],
    ["partition", "#/topics/orders/0"],
    ["records", "#/topics/orders/0/records?offset=1230"],
    ["binary", "#/topics/readings/0/records"],
    ["long-name", `#/topics/${LONG_NAME}/0`],
    ["tail", "#/topics/orders/tail"],
    ["broker", "#/broker"],
  ];

  const lookAt = async (stock: Stocked, looks: { dark?: boolean; width?: number; height?: number }, suffix: string) => {
    const { page, errors } = await visit(stock.broker.opsPort, "#/", looks);
    for (const [name, hash] of pages) {
      await page.goto(`http://127.0.0.1:${stock.broker.opsPort}/${hash}`);
      await page.locator(".tile, .row").first().waitFor();
      await page.waitForTimeout(1_500);
      if (name === "overview") {
        await page.keyboard.press("m");
        await page.keyboard.press("m");
        await page.waitForTimeout(500);
      }
      if (name === "binary") {
        await page.getByRole("grid").focus();
        await page.keyboard.press("j");
        await page.keyboard.press("j");
      }
      // Nothing is cut off: what is wider than the page scrolls within itself.
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), name).toBeLessThanOrEqual(0);
      const take = DOCUMENTED.has(`${name}${suffix}`) ? documentScreenshot : screenshot;
      await take(page, `${name}${suffix}`);
    }
    const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(errors).toEqual([]);
    return background;
  };

  it("follow the system's light and dark, and fit a narrow window", async () => {
    const stock = await stocked();
    await keepBusy(stock);
    // So that charts have something to show.
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.WARM_UP_S ?? 5) * 1000));
    const light = await lookAt(stock, {}, "");
    const dark = await lookAt(stock, { dark: true }, "-dark");
    expect(light).not.toBe(dark);
    await lookAt(stock, { width: 390, height: 800 }, "-narrow");
  }, 400_000);
});
