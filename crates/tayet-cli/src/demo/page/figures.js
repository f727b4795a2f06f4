// What the server says of itself, by a stream of events.

import { byId, element, figuresOf, svg } from "./dom.js";
import { duration, grouped, megabytes, showQuantity, spoken } from "./format.js";

// How far back the charts look: as far as the server keeps.
const WINDOW_MS = 60_000;
// A browser comes back by itself when a connection breaks, but not when it got an answer that is no stream.
const REOPEN_PAUSE_MS = 2_000;

// What each tile shows: the number that is drawn, and how it is written.
const TILES = {
  rate: [(now) => now.requests_per_s, (rate) => grouped(Math.round(rate))],
  p50: [(now) => now.p50_us && now.p50_us / 1_000, duration],
  p99: [(now) => now.p99_us && now.p99_us / 1_000, duration],
  threads: [(now) => now.threads, (threads, now) => `${grouped(now.threads_busy)} / ${grouped(threads)}`],
  takeovers: [(now) => now.takeovers, grouped],
  connections: [(now) => now.connections, grouped],
  sessions: [(now) => now.sessions, grouped],
  queued: [(now) => now.queued, grouped],
  requests: [(now) => now.requests, grouped],
  memory: [(now) => now.memory_bytes, megabytes],
};
const WITH_UNITS = ["p50", "p99", "memory"];

export class Figures {
  constructor(probes) {
    this.probes = probes;
    this.pulse = byId("pulse");
    this.text = byId("pulse-text");
    this.tiles = Object.entries(figuresOf(byId("tiles"), "tile")).map(([name, place]) => new Tile(name, place));
    this.routes = byId("routes");
    this.stream = null;
    // A browser opens six connections to a server, for all of its pages: one that nobody looks at holds none.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    if (!document.hidden) this.open();
  }

  open() {
    this.close();
    const stream = new EventSource("/figures/events");
    stream.addEventListener("message", (event) => this.show(JSON.parse(event.data)));
    stream.addEventListener("error", () => this.lost(stream));
    this.stream = stream;
  }

  close() {
    clearTimeout(this.reopening);
    this.stream?.close();
    this.stream = null;
  }

  show(now) {
    this.say("up", `Serving ${location.host} for ${spoken(now.uptime_s)}, ${grouped(now.slow_clients)} slow requests in flight`);
    this.tiles.forEach((tile) => tile.show(now));
    this.probes.forEach((probe) => probe.compare(now.routes));
    this.routes.replaceChildren(...now.routes.map(routeRow));
  }

  lost(stream) {
    this.say("down", "The stream of figures broke. If the server is gone, start it again: this page goes on by itself.");
    if (stream.readyState === EventSource.CLOSED) this.reopening = setTimeout(() => this.open(), REOPEN_PAUSE_MS);
  }

  say(state, text) {
    this.pulse.className = `pulse ${state}`;
    this.text.textContent = text;
  }
}

// A figure, and its last minute as a line from zero to the highest.
class Tile {
  constructor(name, place) {
    [this.read, this.write] = TILES[name];
    this.hasUnit = WITH_UNITS.includes(name);
    this.place = place;
    this.samples = [];
    this.area = svg("path", { class: "area" });
    this.trace = svg("path", { class: "trace" });
    const chart = svg("svg", { class: "spark", viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" });
    chart.append(this.area, this.trace);
    place.after(element("dd", "chart-of", chart));
  }

  show(now) {
    const value = this.read(now);
    if (value === null || value === undefined) return;
    const text = this.write(value, now);
    if (this.hasUnit) showQuantity(this.place, text);
    else this.place.textContent = text;
    if (this.samples.at(-1)?.at > now.at_ms) this.samples = [];
    this.samples.push({ at: now.at_ms, value });
    this.samples = this.samples.filter((sample) => sample.at >= now.at_ms - WINDOW_MS);
    this.draw(now.at_ms);
  }

  draw(now) {
    const highest = Math.max(...this.samples.map((sample) => sample.value), Number.MIN_VALUE);
    const x = (sample) => (1 - (now - sample.at) / WINDOW_MS).toFixed(4);
    const points = this.samples.map((sample) => `${x(sample)} ${(1 - sample.value / highest).toFixed(4)}`);
    const line = `M${points.join("L")}`;
    this.trace.setAttribute("d", line);
    this.area.setAttribute("d", `${line}L1 1L${x(this.samples[0])} 1Z`);
  }
}

function routeRow(route) {
  const place = element("span", `badge ${route.runs_on}`, route.runs_on === "pool" ? "its own thread" : "the loop");
  const numbers = [grouped(route.requests), duration(route.mean_us / 1_000), grouped(route.takeovers)];
  return element(
    "tr",
    "",
    element("td", "", element("code", "", route.route)),
    element("td", "", place),
    ...numbers.map((number) => element("td", "number", number)),
  );
}
