// The page that files are dropped on.

import { Refused, Transfer, cancel, protocols } from "./protocols.js";
import { forget, keyOf, remember, remembered } from "./remembered.js";

const STATS_INTERVAL_MS = 1_000;
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000];
const RATE_WINDOW_MS = 3_000;
const MAX_UNDER_WAY = 3;

const $ = (selector, root = document) => root.querySelector(selector);
const uploads = [];

/** One file on its way: what is remembered of it, what is shown of it, what it is doing. */
class Upload {
  constructor(kept) {
    Object.assign(this, kept);
    this.state = "waiting";
    this.sent = 0;
    this.samples = [];
    this.row = $("#upload").content.firstElementChild.cloneNode(true);
    $(".name", this.row).textContent = this.name;
    $(".mode", this.row).textContent = $(`input[value=${this.mode}] + span`).textContent;
    $("progress", this.row).setAttribute("aria-label", `Progress of ${this.name}`);
    $(".pause", this.row).addEventListener("click", () => (this.isIdle ? this.resume() : this.pause()));
    $(".remove", this.row).addEventListener("click", () => this.remove());
    $("#uploads").prepend(this.row);
    this.draw();
  }

  get protocol() {
    return protocols[this.mode];
  }

  get isIdle() {
    return ["paused", "failed", "missing"].includes(this.state);
  }

  become(state, reason = "") {
    [this.state, this.reason] = [state, reason];
    if (state === "complete" || state === "failed") $("#announcement").textContent = `${this.name}: ${state}`;
    this.draw();
    if (state !== "sending") startWaiting();
  }

  /** Sends what is missing, again and again until it is there, paused or refused for good. */
  async run() {
    this.become("sending");
    for (let attempt = 0; this.state === "sending"; attempt += 1) {
      const before = this.sent;
      try {
        await this.sendOnce();
        this.sent = this.size;
        await forget(this.key);
        return this.become("complete");
      } catch (error) {
        if (this.state !== "sending") return;
        if (this.sent > before) attempt = 0;
        if (!(error instanceof Refused) || !error.isPassing || attempt >= RETRY_DELAYS_MS.length) {
          return this.become("failed", error.message);
        }
        $(".progress-text", this.row).textContent = `${error.message}; trying again`;
        await new Promise((resolve) => setTimeout(resolve, RETRY_DELAYS_MS[attempt]));
      }
    }
  }

  async sendOnce() {
    this.transfer = new Transfer((sent) => this.progress(sent));
    try {
      if (!this.location) await this.begin();
      await this.protocol.send(this, this.transfer);
    } catch (error) {
      if (!(error instanceof Refused) || !error.isGone) throw error;
      // It has expired meanwhile: from the beginning, then.
      await this.begin();
      await this.protocol.send(this, this.transfer);
    } finally {
      this.transfer.abort();
    }
  }

  async begin() {
    this.location = await this.protocol.create(this.file);
    if (this.location) {
      const { key, mode, name, size, location, file } = this;
      await remember({ key, mode, name, size, location, file });
    }
  }

  progress(sent) {
    const now = performance.now();
    this.sent = Math.min(sent, this.size);
    this.samples.push([now, this.sent]);
    while (this.samples.length > 2 && this.samples[0][0] < now - RATE_WINDOW_MS) this.samples.shift();
    this.draw();
  }

  pause() {
    this.become("paused");
    this.transfer?.abort();
    this.samples = [];
  }

  resume() {
    if (!this.file) return this.become("missing");
    this.become("waiting");
  }

  async remove() {
    const isComplete = this.state === "complete";
    this.state = "removed";
    this.transfer?.abort();
    uploads.splice(uploads.indexOf(this), 1);
    this.row.remove();
    $("#files").focus();
    drawNothing();
    await forget(this.key);
    if (this.location && !isComplete) await cancel(this).catch(() => {});
    startWaiting();
  }

  draw() {
    this.row.className = `card upload ${this.state}`;
    $("progress", this.row).value = this.size ? this.sent / this.size : Number(this.state === "complete");
    $(".progress-text", this.row).textContent = this.text();
    const pause = $(".pause", this.row);
    pause.hidden = this.state === "complete" || !this.protocol.canPause;
    pause.textContent = this.isIdle ? "Resume" : "Pause";
    pause.setAttribute("aria-label", `${pause.textContent} ${this.name}`);
    $(".remove", this.row).setAttribute("aria-label", `Remove ${this.name}`);
  }

  text() {
    const amount = `${bytes(this.sent)} of ${bytes(this.size)}`;
    switch (this.state) {
      case "complete": return `${bytes(this.size)}, complete`;
      case "waiting": return `${bytes(this.size)}, waiting`;
      case "paused": return `${amount}, paused`;
      case "missing": return `${amount}: choose the file again to go on`;
      case "failed": return `${amount}: ${this.reason}`;
      default: return this.rateText(amount);
    }
  }

  rateText(amount) {
    const [first, last] = [this.samples[0], this.samples.at(-1)];
    const rate = first && last[0] > first[0] ? ((last[1] - first[1]) * 1_000) / (last[0] - first[0]) : 0;
    if (rate <= 0) return amount;
    return `${amount}, ${bytes(rate)}/s, ${duration((this.size - this.sent) / rate)} left`;
  }
}

/** Takes files that were chosen or dropped. One that is known goes on where it was. */
function take(files) {
  const mode = $("input[name=mode]:checked").value;
  for (const file of files) {
    const known = uploads.find((upload) => upload.isIdle && upload.name === file.name && upload.size === file.size);
    if (known) {
      known.file = file;
      known.resume();
    } else {
      const key = keyOf(file, mode);
      uploads.push(new Upload({ key, mode, name: file.name, size: file.size, location: null, file }));
    }
  }
  drawNothing();
  startWaiting();
}

function startWaiting() {
  const underWay = uploads.filter((upload) => upload.state === "sending").length;
  const next = uploads.filter((upload) => upload.state === "waiting");
  next.slice(0, Math.max(0, MAX_UNDER_WAY - underWay)).forEach((upload) => upload.run());
}

function drawNothing() {
  $("#nothing").hidden = uploads.length > 0;
}

function drawHint() {
  $("#mode-hint").textContent = protocols[$("input[name=mode]:checked").value].hint;
}

/** What was under way when the page was left goes on. */
async function goOn() {
  for (const kept of await remembered()) {
    uploads.push(new Upload(kept));
    if (!kept.file) uploads.at(-1).become("missing");
  }
  drawNothing();
  startWaiting();
}

async function drawStats() {
  try {
    const stats = await (await fetch("/files/stats")).json();
    for (const tile of document.querySelectorAll("[data-tile]")) {
      const value = stats[tile.dataset.tile];
      const texts = { received_bytes: bytes, bytes_per_second: (rate) => `${bytes(rate)}/s` };
      tile.textContent = (texts[tile.dataset.tile] ?? String)(value);
    }
    $("#finished").replaceChildren(...stats.finished.map(finishedRow));
    setPulse("up", `The server is there. ${bytes(stats.stored_bytes)} are stored.`);
  } catch {
    setPulse("down", "The server cannot be reached. Uploads go on when it is back.");
  }
  setTimeout(drawStats, STATS_INTERVAL_MS);
}

function setPulse(state, text) {
  $("#pulse").className = `pulse ${state}`;
  $("#pulse-text").textContent = text;
}

function finishedRow({ name, length, sha256, at }) {
  const row = document.createElement("tr");
  const cells = [[name, ""], [bytes(length), "number"], [sha256 ?? "", "sum"], [new Date(at * 1_000).toLocaleTimeString(), ""]];
  for (const [text, kind] of cells) {
    const cell = row.insertCell();
    [cell.textContent, cell.className] = [text, kind];
  }
  return row;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  const value = count / 1024 ** unit;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function duration(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  return seconds < 3_600 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}

$("#files").addEventListener("change", (event) => {
  take(event.target.files);
  event.target.value = "";
});
for (const [name, isOver] of [["dragenter", true], ["dragover", true], ["dragleave", false], ["drop", false]]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    $("#drop").classList.toggle("over", isOver);
    if (name === "drop") take(event.dataTransfer.files);
  });
}
$("#modes").addEventListener("change", drawHint);
drawHint();
goOn();
drawStats();
