// A browser that does what the lines on standard input say, and answers each with a line.
// A line: {"call": "goto", "args": [...]} of the page, or with "on": a selector, of what that finds.
import { createInterface } from "node:readline";
import chromium from "@sparticuz/chromium";
import { chromium as browsers } from "playwright-core";

chromium.setGraphicsMode = false;
// Not the package's own arguments, which switch off the rules about other origins. Root has no sandbox.
// What else a machine could change in a picture: hinting, the order of a screen's subpixels, its colours and scale.
const plain = ["--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb", "--hide-scrollbars"];
const args = ["--no-sandbox", "--lang=en-US", ...plain];
const browser = await browsers.launch({ executablePath: await chromium.executablePath(), args, headless: true });
const READS = new Set(["ariaSnapshot", "evaluate", "innerText", "url"]);
let page, seen = { requests: [], problems: [] };

async function open(options) {
  await page?.context().close();
  const fixed = { viewport: { width: 1200, height: 900 }, deviceScaleFactor: 1, locale: "en-US", timezoneId: "UTC" };
  const context = await browser.newContext({ ...fixed, ...options });
  page = await context.newPage();
  seen = { requests: [], problems: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => message.type() === "error" && seen.problems.push(message.text()));
  page.on("pageerror", (error) => seen.problems.push(String(error)));
  page.on("dialog", (dialog) => { seen.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
}

async function carryOut({ call, on, args = [] }) {
  if (call === "open") return open(args[0]);
  if (call === "seen") return seen;
  if (call === "press") return page.keyboard.press(...args);
  const target = on === undefined ? page : page.locator(on).first();
  const found = await target[call](...args);
  return READS.has(call) ? found : null;
}

await open({});
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { value: (await carryOut(JSON.parse(line))) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
