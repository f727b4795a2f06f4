// A WebSocket that comes back: JSON messages, and pauses that grow while the server does not answer.

const LEAST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 15_000;
// A connection that lasted as long was a good one: the next pause is a short one again.
const STABLE_MS = 5_000;

export class Connection {
  #url;
  #heard;
  #socket = null;
  #timer;
  #failures = 0;

  /**
   * `heard` has functions: `opened()`, `received(message)`, and `changed(state)`, where a state has a `name`: "connecting",
   * "open", or "waiting" with `attempt` and `untilMs`, by the clock of `performance`.
   */
  constructor(path, heard) {
    this.#url = new URL(path, location).href.replace(/^http/, "ws");
    this.#heard = heard;
    // The network is back, or the page is looked at again: no reason to wait.
    addEventListener("online", () => this.retry());
    document.addEventListener("visibilitychange", () => document.hidden || this.retry());
    this.#open();
  }

  /** Whether it was sent. */
  send(message) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** Ends a pause. */
  retry() {
    if (this.#socket === null) this.#open();
  }

  #open() {
    clearTimeout(this.#timer);
    this.#heard.changed({ name: "connecting" });
    const socket = new WebSocket(this.#url);
    let openedAt = Infinity;
    socket.addEventListener("open", () => {
      openedAt = performance.now();
      this.#heard.changed({ name: "open" });
      this.#heard.opened();
    });
    socket.addEventListener("message", (event) => this.#heard.received(JSON.parse(event.data)));
    socket.addEventListener("close", () => this.#wait(performance.now() - openedAt >= STABLE_MS));
    this.#socket = socket;
  }

  #wait(wasStable) {
    this.#socket = null;
    this.#failures = wasStable ? 1 : this.#failures + 1;
    const pauseMs = pauseAfter(this.#failures);
    this.#timer = setTimeout(() => this.#open(), pauseMs);
    this.#heard.changed({ name: "waiting", attempt: this.#failures, untilMs: performance.now() + pauseMs });
  }
}

/** Twice as long after each failure, and by chance up to half of it shorter, so that not all pages come back at once. */
function pauseAfter(failures) {
  const pauseMs = Math.min(LEAST_PAUSE_MS * 2 ** (failures - 1), MOST_PAUSE_MS);
  return pauseMs * (1 - Math.random() / 2);
}
