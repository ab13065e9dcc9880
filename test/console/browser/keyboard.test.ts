// A whole visit without a mouse: from the overview to a record's payload and back, with focus always somewhere that shows it.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { screenshot, useChromium, visit } from "./chromium.js";
import { stocked } from "./data.js";

useChromium();

const heading = (page: Page): Promise<string> => page.locator("h1").first().innerText();
const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};

it("a visit by keyboard alone reaches everything", async () => {
  const { broker } = await stocked();
  const { page, errors } = await visit(broker.opsPort);
  await page.locator(".rows .row").first().waitFor();
  await press(page, "?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  await dialog.waitFor();
  expect(await dialog.innerText()).toMatch(/g t\s+topics/);
  await screenshot(page, "keys");
  await press(page, "Escape");
  await dialog.waitFor({ state: "hidden" });

  await press(page, "g", "t");
  await expect.poll(() => heading(page)).toBe("Topics");
  await page.locator(".rows .row").nth(2).waitFor();
  await press(page, "i", "j", "j", "ArrowDown");
  const current = page.locator('[aria-selected="true"]');
  await expect.poll(() => current.innerText()).toMatch(/^orders\n/);
  // The grid has the focus, it is seen, and it names its current row.
  const focused = () =>
    page.evaluate(() => {
      const element = document.activeElement as HTMLElement;
      const named = document.getElementById(element.getAttribute("aria-activedescendant") ?? "");
      return [
        element.getAttribute("role"),
        getComputedStyle(element).outlineStyle,
        named?.getAttribute("aria-selected"),
      ];
    });
  await expect.poll(focused).toEqual(["grid", "solid", "true"]);
  await press(page, "Enter");
  await expect.poll(() => heading(page)).toBe("orders");

  await page.locator(".rows .row").nth(2).waitFor();
  await press(page, "/", "0", "Enter");
  await expect.poll(() => heading(page)).toBe("orders/0");
  await press(page, "r");
  await page.getByText("can be read").waitFor();
  await press(page, "/", ..."2500", "Enter");
  await expect.poll(() => page.locator(".rows .row").first().innerText()).toMatch(/^2,500\n/);
  await press(page, "i", "End");
  await expect.poll(() => page.locator(".payload pre").innerText()).toContain('"id": 2699');
  await press(page, "3");
  await expect.poll(() => page.locator(".payload pre").getAttribute("class")).toBe("hex");
  await press(page, ",");
  await expect.poll(() => page.locator(".rows .row").first().innerText()).toMatch(/^2,300\n/);

  await press(page, "]");
  await expect.poll(() => heading(page)).toBe("orders/1");
  await press(page, "t");
  await expect.poll(() => heading(page)).toBe("orders live");
  await page.locator(".rows .row").nth(1).waitFor();
  await press(page, "p");
  await page.getByRole("button", { name: "Go on" }).waitFor();
  await press(page, "u", "u", "u");
  await expect.poll(() => page.locator(".tile").count()).toBeGreaterThan(4);
  expect(errors).toEqual([]);
});

it("every control is reached by Tab, has a name, and shows the focus", async () => {
  const { broker } = await stocked();
  const { page } = await visit(broker.opsPort, "#/topics/orders/0/records");
  await page.locator(".payload").waitFor();
  const seen: string[] = [];
  for (let i = 0; i < 30; i++) {
    await press(page, "Tab");
    const [name, outline] = await page.evaluate(() => {
      const element = document.activeElement as HTMLInputElement;
      if (element === document.body) return ["", ""];
      const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.innerText ?? element.innerText;
      // A radio is invisible in its label; the group around it shows the focus.
      const shown = element.type === "radio" ? (element.closest(".choice") as HTMLElement) : element;
      return [label.trim(), getComputedStyle(shown).outlineStyle];
    });
    if (name === "" && outline === "") break;
    expect([name, outline]).toEqual([expect.stringMatching(/./), "solid"]);
    seen.push(name);
  }
  expect(seen).toEqual(
    expect.arrayContaining([
      "To the page",
      "Overview",
      "Keys",
      "Segments",
      "Offset",
      "Time",
      "Earliest",
      "Latest",
      "Records",
      "JSON",
      "Payload as json",
    ]),
  );
});

it("single keys can be turned off, and do nothing where somebody types", async () => {
  const { broker } = await stocked();
  const { page } = await visit(broker.opsPort, "#/topics");
  await page.getByRole("searchbox").focus();
  await press(page, "g", "o");
  expect(await page.getByRole("searchbox").inputValue()).toBe("go");
  expect(await heading(page)).toBe("Topics");
  await press(page, "Escape", "?");
  await page.getByLabel("Single keys work").click();
  await press(page, "Escape");
  await press(page, "?", "g", "b");
  expect(await heading(page)).toBe("Topics");
  expect(await page.getByRole("dialog").count()).toBe(0);
});
