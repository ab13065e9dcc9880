// Searching by keyboard: a search begins anew each time, and leads into its list.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { useChromium, visit } from "./chromium.js";
import { stocked } from "./data.js";

useChromium();

const heading = (page: Page): Promise<string> => page.locator("h1").first().innerText();
const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};
const names = (page: Page): Promise<string[]> =>
  page.locator(".rows .row").evaluateAll((rows) => rows.map((row) => (row.children[0] as HTMLElement).innerText));

it("a topic is found, opened, and another one looked for", async () => {
  const { broker } = await stocked();
  const { page } = await visit(broker.opsPort, "#/topics");
  await page.locator(".rows .row").nth(2).waitFor();
  // A row that was chosen before is none of the list that is found.
  await press(page, "i", "j", "j");
  await press(page, "/", ..."ord", "Enter");
  await expect.poll(async () => (await names(page))[0]).toBe("orders");
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      const named = document.getElementById(element.getAttribute("aria-activedescendant") ?? "");
      return [element.getAttribute("role"), (named?.children[0] as HTMLElement | undefined)?.innerText];
    });
  await expect.poll(focused).toEqual(["grid", "orders"]);
  // What was typed last is replaced, and not added to.
  await press(page, "/", ..."re", "Enter");
  expect(await page.getByRole("searchbox").inputValue()).toBe("re");
  await expect.poll(focused).toEqual(["grid", "readings"]);
  await press(page, "Enter");
  await expect.poll(() => heading(page)).toBe("readings");
  await press(page, "u");
  await expect.poll(() => heading(page)).toBe("Topics");
});

it("Enter opens the first row of a list in which none is chosen", async () => {
  const { broker } = await stocked();
  const { page } = await visit(broker.opsPort, "#/topics");
  await page.locator(".rows .row").nth(2).waitFor();
  await press(page, "i");
  const mark = () =>
    page
      .locator(".rows .row")
      .first()
      .evaluate((row) => getComputedStyle(row).boxShadow);
  expect(await mark()).toContain("inset");
  await press(page, "Enter");
  await expect.poll(() => heading(page)).toBe("clicks");
});

it("a wrong offset is replaced by the next search, as is a partition that is not there", async () => {
  const { broker } = await stocked();
  const { page } = await visit(broker.opsPort, "#/topics/orders");
  await page.locator(".rows .row").nth(2).waitFor();
  await press(page, "/", "9", "Enter");
  await page.getByText("It has partitions 0 to 2.").waitFor();
  await press(page, "Escape", "/", "0", "Enter");
  await expect.poll(() => heading(page)).toBe("orders/0");
  await press(page, "r");
  await page.getByText("can be read").waitFor();
  await press(page, "/", ..."12", "Enter");
  await expect.poll(() => page.locator(".rows .row").first().innerText()).toMatch(/^12\n/);
  await press(page, "/", ..."340", "Enter");
  await expect.poll(() => page.locator(".rows .row").first().innerText()).toMatch(/^340\n/);
});
