// The live parts of the demo's page.

import { byId, figuresOf, svg } from "./dom.js";
import { Figures } from "./figures.js";
import { duration, showQuantity } from "./format.js";

const FAST_PAUSE_MS = 100;
const SLOW_PAUSE_MS = 0;
const RETRY_PAUSE_MS = 1_000;
// Shorter than the lease that the server gives its clients.
const PRESSURE_PAUSE_MS = 2_000;
// How far back the charts and the quantiles look.
const WINDOW_MS = 30_000;

// The charts' common scale: powers of ten, in milliseconds.
const LEAST_MS = 0.1;
const MOST_MS = 1_000;
const MARKS_MS = [1, 10, 100, 1_000];

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

// Asks one endpoint again and again, and shows how long it takes: by the browser's own record of each request, which does not
// count how long this script had to wait for its turn.
class Probe {
  constructor(card, path, pauseMs) {
    this.route = `GET ${path}`;
    this.url = new URL(path, location).href;
    this.pauseMs = pauseMs;
    this.samples = [];
    this.figures = figuresOf(card, "figure");
    this.chart = new Chart(card.querySelector("[data-chart]"), path);
    new PerformanceObserver((list) => this.record(list.getEntriesByName(this.url))).observe({ type: "resource" });
  }

  async measure() {
    const response = await fetch(this.url, { cache: "no-store" });
    await response.arrayBuffer();
    await pause(this.pauseMs);
  }

  record(entries) {
    const answered = entries.filter((entry) => entry.requestStart > 0 && entry.responseStatus === 200);
    if (answered.length === 0) return;
    this.samples.push(...answered.map((entry) => ({ at: entry.responseEnd, ms: entry.responseEnd - entry.requestStart })));
    this.show(performance.now());
    performance.clearResourceTimings();
  }

  // What the server says of the same route.
  compare(routes) {
    const own = routes.find((route) => route.route === this.route);
    if (own) showQuantity(this.figures.mean, duration(own.mean_us / 1_000));
  }

  show(now) {
    while (this.samples[0].at < now - WINDOW_MS) this.samples.shift();
    const sorted = this.samples.map((sample) => sample.ms).sort((a, b) => a - b);
    showQuantity(this.figures.p50, duration(quantile(sorted, 0.5)));
    showQuantity(this.figures.p99, duration(quantile(sorted, 0.99)));
    this.chart.draw(this.samples, now);
  }
}

// A line of durations over time, on a logarithmic scale.
class Chart {
  constructor(frame, path) {
    this.svg = svg("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", role: "img", "aria-label": `Latencies of ${path}` });
    for (const mark of MARKS_MS) {
      const y = Chart.height(mark);
      this.svg.append(svg("line", { class: "grid", x1: 0, x2: 1, y1: y, y2: y }));
      const label = document.createElement("span");
      label.textContent = mark < 1_000 ? `${mark} ms` : `${mark / 1_000} s`;
      label.style.top = `${y * 100}%`;
      label.setAttribute("aria-hidden", "true");
      frame.append(label);
    }
    this.area = svg("path", { class: "area" });
    this.trace = svg("path", { class: "trace" });
    this.svg.append(this.area, this.trace);
    frame.prepend(this.svg);
  }

  static height(ms) {
    const share = Math.log(Math.min(Math.max(ms, LEAST_MS), MOST_MS) / LEAST_MS) / Math.log(MOST_MS / LEAST_MS);
    return 1 - share;
  }

  draw(samples, now) {
    const x = (sample) => 1 - (now - sample.at) / WINDOW_MS;
    const points = samples.map((sample) => `${x(sample).toFixed(4)} ${Chart.height(sample.ms).toFixed(4)}`);
    const line = `M${points.join("L")}`;
    this.trace.setAttribute("d", line);
    this.area.setAttribute("d", `${line}L${x(samples.at(-1)).toFixed(4)} 1L${x(samples[0]).toFixed(4)} 1Z`);
  }
}

// The slow requests that the server's own clients keep in flight.
class Pressure {
  constructor() {
    this.slider = byId("pressure");
    this.value = byId("pressure-value");
    this.show();
    this.slider.addEventListener("input", () => this.show());
    this.slider.addEventListener("change", () => this.ask().catch(() => {}));
  }

  show() {
    this.value.textContent = this.slider.value;
  }

  async renew() {
    await this.ask();
    await pause(PRESSURE_PAUSE_MS);
  }

  async ask() {
    const body = JSON.stringify({ clients: Number(this.slider.value) });
    const response = await fetch("/api/pressure", { method: "PUT", headers: { "Content-Type": "application/json" }, body });
    await response.arrayBuffer();
  }
}

// The form that sends requests to the JSON API.
class Workbench {
  static PRESETS = {
    place: ["POST", "/api/orders", '{ "cloth": "linen", "metres": 3 }'],
    list: ["GET", "/api/orders", ""],
    show: ["GET", "/api/orders/{last}", ""],
    cancel: ["DELETE", "/api/orders/{last}", ""],
    mistake: ["POST", "/api/orders", '{ "cloth": "linen", "metres": "three" }'],
  };

  constructor() {
    this.form = byId("api");
    this.method = byId("api-method");
    this.path = byId("api-path");
    this.body = byId("api-body");
    this.last = 1;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    for (const button of this.form.querySelectorAll("[data-preset]")) {
      button.addEventListener("click", () => this.take(Workbench.PRESETS[button.dataset.preset]));
    }
    this.method.addEventListener("change", () => this.update());
    this.update();
  }

  take([method, path, body]) {
    this.method.value = method;
    this.path.value = path.replace("{last}", this.last);
    this.body.value = body;
    this.update();
    this.send();
  }

  update() {
    this.body.disabled = this.method.value !== "POST";
  }

  async send() {
    const request = { method: this.method.value, headers: { Accept: "application/json" } };
    if (request.method === "POST") {
      request.headers["Content-Type"] = "application/json";
      request.body = this.body.value;
    }
    byId("api-request").textContent = message(`${request.method} ${this.path.value} HTTP/1.1`, Object.entries(request.headers), request.body);
    const start = performance.now();
    try {
      const response = await fetch(this.path.value, request);
      const text = await response.text();
      byId("api-took").textContent = `in ${duration(performance.now() - start)}`;
      byId("api-response").textContent = message(`HTTP/1.1 ${response.status} ${response.statusText}`, response.headers, indented(text));
      this.last = response.headers.get("location")?.split("/").at(-1) ?? this.last;
    } catch {
      byId("api-took").textContent = "";
      byId("api-response").textContent = "The server does not answer.";
    }
  }
}

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

function message(line, headers, body) {
  const fields = [...headers].map(([name, value]) => `${name.toLowerCase()}: ${value}`);
  return [line, ...fields, "", body ?? ""].join("\n").trimEnd();
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// Does something again and again while the page is looked at, and after a pause where it fails.
async function forever(act) {
  for (;;) {
    if (document.hidden) {
      await new Promise((resume) => document.addEventListener("visibilitychange", resume, { once: true }));
      continue;
    }
    try {
      await act();
    } catch {
      await pause(RETRY_PAUSE_MS);
    }
  }
}

const fast = new Probe(byId("fast"), "/api/fast", FAST_PAUSE_MS);
const slow = new Probe(byId("slow"), "/api/slow", SLOW_PAUSE_MS);
const pressure = new Pressure();
new Figures([fast, slow]);
new Workbench();

forever(() => pressure.renew());
forever(() => fast.measure());
forever(() => slow.measure());
