// What a topic has for itself, on its page; a topic that has nothing says nothing of it.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import type { BrokerInfo } from "../../../src/ops/api/types.js";
import { runBroker } from "../../support/broker.js";
import { useChromium, visit } from "./chromium.js";

useChromium();

const own = (page: Page) => page.getByRole("region", { name: "Settings of its own" });

it("a topic shows each setting of its own and where it came from", async () => {
  const topics = {
    orders: { partitions: 1, "retention.bytes": "1GiB", "segment.bytes": "32MiB" },
    plain: { partitions: 1 },
  };
  const broker = await runBroker({ "ops.enabled": true, "ops.port": 0, topics });
  const { page } = await visit(broker.opsPort, "#/topics/orders");
  await own(page).waitFor();
  const shown = await own(page)
    .locator("dl > div")
    .evaluateAll((all) => all.map((each) => (each as HTMLElement).innerText.split("\n")));
  const origin = "startBroker [topics.orders]";
  expect(shown).toHaveLength(2);
  expect(shown).toEqual(
    expect.arrayContaining([
      ["retention.bytes", "1GiB", origin],
      ["segment.bytes", "32MiB", origin],
    ]),
  );
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);

  await page.evaluate(() => location.assign("#/topics/plain"));
  await page.getByRole("grid", { name: "Partitions" }).locator(".rows .row").waitFor();
  expect(await own(page).count()).toBe(0);

  // When the broker has more than it sends, nothing that is missing is taken for nothing.
  await page.route("**/api/broker", async (route) => {
    const info = (await (await route.fetch()).json()) as BrokerInfo;
    await route.fulfill({ json: { ...info, topicSettingsLeftOut: 7 } });
  });
  await page.getByText("7 settings of topics are not sent here; there may be more of this one.").waitFor();
});
