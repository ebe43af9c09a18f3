// Keeps the page as the node shows it. The node renders all HTML, and escapes what is in it;
// here it only takes the place of what was there, so that focus and open parts stay.

const KEPT = new Set(["open"]); // attributes that the reader changes

function patch(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    if (!KEPT.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!KEPT.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
  patchChildren(old, fresh);
}

function patchChildren(old, fresh) {
  let there = old.firstChild;
  for (const node of [...fresh.childNodes]) {
    const alike = nextAlike(there, node);
    while (alike && there !== alike) there = removed(there);
    if (!alike) {
      old.insertBefore(node, there);
      continue;
    }
    if (node.nodeType === Node.ELEMENT_NODE) patch(there, node);
    else if (there.data !== node.data) there.data = node.data;
    there = there.nextSibling;
  }
  while (there) there = removed(there);
}

// What takes the place of a node: of elements one further on, too, if others before it are gone.
function nextAlike(there, node) {
  while (there && !isAlike(there, node)) {
    if (node.nodeType !== Node.ELEMENT_NODE) return null;
    there = there.nextSibling;
  }
  return there;
}

function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

function isAlike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.id === other.id;
}

function show(sections) {
  for (const [name, html] of Object.entries(sections)) {
    const place = document.querySelector(`[data-live="${name}"]`);
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    if (place) patchChildren(place, fresh.content);
  }
}

function tell(text, isLost) {
  const line = document.getElementById("live");
  line.classList.toggle("lost", isLost);
  if (line.textContent !== text) line.textContent = text;
}

// Plots: a series for each flow, told apart by colour and by dashes.

const MEASURES = [
  { name: "bytes_per_s", title: "Rate", text: (value) => scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]) },
  { name: "lag", title: "Lag in records", text: (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]) },
  { name: "delay_ms", title: "Latency", text: duration },
];
const COLOURS = { light: ["#1d4ed8", "#c2410c", "#15803d", "#9333ea", "#0e7490", "#be123c", "#854d0e", "#475569"],
  dark: ["#8fb4ff", "#fb9a5b", "#6fd197", "#cf9bff", "#5fd0e0", "#ff8fa6", "#e0b44d", "#b6c2d4"] };
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
const KEPT_SAMPLES = 6 * 360;
const HEIGHT = 190;

const dark = matchMedia("(prefers-color-scheme: dark)");
const host = document.getElementById("plots");
const ranges = document.querySelector(".ranges");
let data = { flows: [], times: [] };
let minutes = 60;
let plots = [];

function scaled(value, step, units) {
  if (value === null || value === undefined) return "-";
  let unit = 0;
  while (Math.abs(value) >= step && unit < units.length - 1) { value /= step; unit += 1; }
  const digits = unit && Math.abs(value) < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`.trim();
}

function duration(ms) {
  if (ms === null || ms === undefined) return "-";
  const steps = [[3_600_000, "h"], [60_000, "min"], [1000, "s"]];
  const [size, unit] = steps.find(([least]) => ms >= least) ?? [1, "ms"];
  return `${Number((ms / size).toFixed(1))} ${unit}`;
}

function take(history) {
  const isSame = JSON.stringify(history.flows) === JSON.stringify(data.flows);
  // Each stream begins with the whole history, also after a connection that was lost.
  const isWhole = history.times[0] <= data.times.at(-1);
  if (!isSame || isWhole || !data.times.length) {
    if (history.times.length || !isSame) { data = history; draw(); }
    return;
  }
  if (!history.times.length) return;
  const joined = (old, fresh) => [...old, ...fresh].slice(-KEPT_SAMPLES);
  data.times = joined(data.times, history.times);
  for (const { name } of MEASURES) {
    data[name] = data[name].map((series, place) => joined(series, history[name][place]));
  }
  plots.forEach((plot, place) => plot.setData(columns(MEASURES[place].name)));
}

function columns(measure) {
  return [data.times, ...data[measure]];
}

function draw() {
  plots.forEach((plot) => plot.destroy());
  host.replaceChildren();
  // All are there before one is measured: as long as there is one, it has the whole width.
  const places = data.flows.length && data.times.length ? MEASURES.map(framed) : [];
  plots = places.map((space, place) => plotted(MEASURES[place], space));
  ranges.hidden = !plots.length;
}

function framed({ title }) {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  caption.textContent = title;
  const space = document.createElement("div");
  figure.append(caption, space);
  host.append(figure);
  return space;
}

function plotted({ name, text }, space) {
  const style = getComputedStyle(document.documentElement);
  const [ink, grid] = ["--muted", "--line"].map((variable) => style.getPropertyValue(variable));
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const colours = COLOURS[dark.matches ? "dark" : "light"];
  const options = {
    width: space.clientWidth, height: HEIGHT, cursor: { y: false, drag: { setScale: false } },
    scales: { x: { range: shownTime }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 10] } },
    axes: [
      { ...axis, space: 70, values: (_, ticks) => ticks.map((at) => clock(at).slice(0, 5)) },
      { ...axis, size: 74, values: (_, ticks) => ticks.map(text) },
    ],
    series: [
      { label: "Time", value: (_, at) => (at ? clock(at) : "-") },
      ...data.flows.map((flow, place) => ({
        label: flow, stroke: colours[place % colours.length], width: 2, points: { show: false },
        dash: DASHES[Math.floor(place / colours.length) % DASHES.length], value: (_, value) => text(value),
      })),
    ],
  };
  return new uPlot(options, columns(name), space);
}

function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour12: false });
}

function shownTime() {
  const last = data.times[data.times.length - 1] ?? 0;
  return [Math.max(last - minutes * 60, Math.min(data.times[0] ?? 0, last - 60)), last];
}

ranges.addEventListener("click", (event) => {
  const chosen = event.target.closest("button");
  if (!chosen) return;
  minutes = Number(chosen.dataset.minutes);
  for (const each of ranges.children) each.setAttribute("aria-pressed", String(each === chosen));
  draw();
});
dark.addEventListener("change", draw);
new ResizeObserver(() => {
  plots.forEach((plot) => plot.setSize({ width: plot.root.parentElement.clientWidth, height: HEIGHT }));
}).observe(host);

const UPDATES = "page/updates";
const AGAIN_MS = 5000;
const NO_ANSWER = "the node does not answer";

function follow() {
  const updates = new EventSource(UPDATES);
  updates.addEventListener("message", (event) => {
    const news = JSON.parse(event.data);
    show(news.sections);
    take(news.history);
    tell("Live", false);
  });
  updates.addEventListener("error", async () => {
    if (updates.readyState !== EventSource.CLOSED) {
      tell(`Not live: ${NO_ANSWER}`, true); // The browser connects again by itself.
      return;
    }
    // After an answer that is an error it does not.
    setTimeout(follow, AGAIN_MS);
    tell(`Not live: ${await refusal()}`, true);
  });
}

// Why updates are refused; only another request shows what the answer says.
async function refusal() {
  const request = new AbortController();
  try {
    const answer = await fetch(UPDATES, { signal: request.signal });
    return answer.ok ? NO_ANSWER : ((await answer.json()).message ?? NO_ANSWER);
  } catch {
    return NO_ANSWER;
  } finally {
    request.abort();
  }
}

follow();
