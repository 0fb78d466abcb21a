// Keeps the part of a page that shows a running execution up to date: the server makes the page, this replaces the part.
// Parsed pages run no scripts, so what is taken over is markup alone.
import { drawAll } from "./graph.js";

const SHORTEST_MS = 1000, LONGEST_MS = 5000;
let paused = false, pauseMs = SHORTEST_MS, served = "";

const live = () => document.getElementById("live");
const isLive = () => live()?.dataset.live === "true";

async function update() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(String(answer.status));
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("live");
  if (!fresh || paused) return;
  const isNew = fresh.innerHTML !== served;
  if (isNew) replace(fresh);
  pauseMs = isNew ? SHORTEST_MS : Math.min(pauseMs * 1.5, LONGEST_MS);
}

function replace(fresh) {
  const focused = document.activeElement?.getAttribute("href") ?? document.activeElement?.id;
  served = fresh.innerHTML;
  live().replaceWith(document.adoptNode(fresh));
  watchPause();
  drawAll();
  if (focused) live().querySelector(`[href="${CSS.escape(focused)}"], #${CSS.escape(focused)}`)?.focus();
}

function watchPause() {
  const button = document.getElementById("pause");
  button?.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Resume updates" : "Pause updates";
  });
}

async function run() {
  while (isLive()) {
    await new Promise((done) => setTimeout(done, pauseMs));
    if (paused || document.hidden) continue;
    try {
      await update();
    } catch {
      pauseMs = LONGEST_MS;
      document.querySelector(".live [role=status]")?.replaceChildren("No answer; trying again.");
    }
  }
}

served = live()?.innerHTML ?? "";
drawAll();
watchPause();
run();
