// The system's Chromium without a window. Whatever a page sends to another machine goes to a proxy of ours, which refuses and remembers
// it. What the browser sends of its own accord, and the flags do not keep all of it from, goes to one that only refuses.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, onTestFinished } from "vitest";
import { packageRoot } from "../../../src/native/load.js";

/** CHROMIUM names another one. */
const { CHROMIUM } = process.env;
const executable = (CHROMIUM === undefined ? ["/usr/bin/chromium", "/usr/bin/chromium-browser"] : [CHROMIUM]).find(
  (path) => existsSync(path),
);

/** Without those of background networking the browser asks its maker's hosts at every start. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // It would ask what its maker knows of the fields of a page.
  "--disable-features=AutofillServerCommunication,OptimizationHints,MediaRouter",
  "--font-render-hinting=none",
];

/**
 * Where screenshots of a run lie; it is not part of the repository. Those of the documents are taken anew when UPDATE_SCREENSHOTS is set,
 * smaller where there is a pngquant.
 */
const artefacts = join(packageRoot(), ".cache", "screenshots");
const images = join(packageRoot(), "docs", "img");

let browser: Browser | undefined;
const proxies: Server[] = [];
let proxyOfPages = "";
const left: string[] = [];

/** The address of a proxy that lets nothing out. */
async function refusing(onAsked: (url: string) => void): Promise<string> {
  const proxy = createServer((request, response) => {
    onAsked(request.url ?? "");
    response.writeHead(502).end();
  });
  proxy.on("connect", (request, socket) => {
    onAsked(request.url ?? "");
    socket.end("HTTP/1.1 502 no\r\n\r\n");
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

const LOOPBACK = ["127.0.0.1", "localhost"];

/** For the head of a test file. Its tests are skipped where there is no Chromium, and say so. */
export function useChromium(): void {
  beforeAll(async () => {
    if (executable === undefined) return;
    mkdirSync(artefacts, { recursive: true });
    proxyOfPages = await refusing((url) => void left.push(url));
    const own = [`--proxy-server=${await refusing(() => undefined)}`, `--proxy-bypass-list=${LOOPBACK.join(";")}`];
    browser = await chromium.launch({ executablePath: executable, args: [...FLAGS, ...own] });
  });
  beforeEach((context) => {
    left.length = 0;
    context.skip(executable === undefined, "there is no /usr/bin/chromium; the package chromium has it");
  });
  afterAll(async () => {
    await browser?.close();
    for (const proxy of proxies.splice(0)) proxy.close();
  });
}

export interface Look {
  readonly dark?: boolean;
  readonly width?: number;
  readonly height?: number;
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every address that the page asked for. */
  readonly asked: string[];
  /** What the page's console said that is an error. */
  readonly errors: string[];
}

/** What pages sent to other machines since the test began: also what no page says that it asks for, as to look a name up in advance. */
export const leftTheMachine = (): readonly string[] => left;

/** A page of a side port, closed after the test. */
export async function visit(opsPort: number | undefined, hash = "#/", look: Look = {}): Promise<Visit> {
  if (browser === undefined) throw new Error("no browser: call useChromium()");
  const { dark = false, width = 1280, height = 820 } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    timezoneId: "UTC",
    proxy: { server: proxyOfPages, bypass: LOOPBACK.join(",") },
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const asked: string[] = [];
  const errors: string[] = [];
  page.on("request", (request) => void asked.push(request.url()));
  page.on("pageerror", (error) => void errors.push(String(error)));
  page.on("console", (message) => void (message.type() === "error" && errors.push(message.text())));
  await page.goto(`http://127.0.0.1:${opsPort}/${hash}`);
  return { page, context, asked, errors };
}

/** Keeps what a page looks like. */
export async function screenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(artefacts, `${name}.png`) });
}

/** The same, and it is one of the documents' when those are wanted. */
export async function documentScreenshot(page: Page, name: string): Promise<void> {
  await screenshot(page, name);
  if (process.env.UPDATE_SCREENSHOTS === undefined) return;
  const path = join(images, `${name}.png`);
  mkdirSync(images, { recursive: true });
  await page.screenshot({ path });
  spawnSync("pngquant", ["--force", "--speed=1", "--output", path, "64", path]);
}
