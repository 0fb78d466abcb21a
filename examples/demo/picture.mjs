// Writes a picture of one view of the page: node picture.mjs URL PATH FILE
import chromium from "@sparticuz/chromium";
import { chromium as browsers } from "playwright-core";

const [, , url, path, file] = process.argv;
chromium.setGraphicsMode = false;
const args = ["--no-sandbox", "--lang=en-US"];
const browser = await browsers.launch({ executablePath: await chromium.executablePath(), args, headless: true });
const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, locale: "en-US" });
await page.goto(url); // gives the browser its cookie
await page.goto(new URL(path, url).href);
await page.waitForSelector(".graph svg, svg.graph");
await page.screenshot({ path: file, fullPage: true });
await browser.close();
