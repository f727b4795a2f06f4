// The chat's page.

import { Connection } from "./connection.js";
import { byId, element } from "./dom.js";

const FIRST_ROOM = "lobby";
// What the page shows at most; the server keeps fewer.
const MAX_LINES = 500;
// So near to the end, new messages scroll the log.
const NEAR_END_PX = 40;
const COUNTDOWN_PAUSE_MS = 250;

// Where this browser is, and as whom.
class Visit {
  constructor() {
    this.name = localStorage.getItem("name");
    this.visitor = localStorage.getItem("visitor") ?? madeUp();
    localStorage.setItem("visitor", this.visitor);
  }

  // The address has the room, so that it can be sent to others.
  get room() {
    return new URLSearchParams(location.hash.slice(1)).get("room") || FIRST_ROOM;
  }

  static addressOf(room) {
    return `#${new URLSearchParams({ room })}`;
  }

  rename(name) {
    this.name = name;
    if (name) localStorage.setItem("name", name);
    else localStorage.removeItem("name");
  }
}

// What is said in the room.
class Log {
  constructor() {
    this.list = byId("log");
    this.lastId = 0;
  }

  clear() {
    this.list.replaceChildren();
    this.lastId = 0;
  }

  // What was shown before comes again after each connection.
  say({ id, at_ms, name, text }, ownName) {
    if (id <= this.lastId) return;
    this.lastId = id;
    const at = new Date(at_ms);
    const time = element("time", "", at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
    time.dateTime = at.toISOString();
    const who = element("b", "", name);
    this.append(element("div", name === ownName ? "own" : "", who, " ", time, element("p", "", text)));
  }

  note(text) {
    this.append(element("p", "note", text));
  }

  append(line) {
    const { scrollHeight, scrollTop, clientHeight } = this.list;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    this.list.append(line);
    if (this.list.children.length > MAX_LINES) this.list.firstChild.remove();
    if (isAtEnd) this.list.scrollTop = this.list.scrollHeight;
  }
}

// How the connection is.
class State {
  constructor(retry) {
    this.line = byId("state");
    this.text = byId("state-text");
    this.countdown = byId("countdown");
    this.button = byId("retry");
    this.button.addEventListener("click", retry);
  }

  show(state) {
    clearInterval(this.timer);
    const isWaiting = state.name === "waiting";
    this.line.className = `pulse ${{ open: "up", waiting: "down" }[state.name] ?? ""}`;
    this.text.textContent = {
      connecting: "Connecting\u2026",
      open: "Connected",
      waiting: `Not connected (attempt ${state.attempt} failed).`,
    }[state.name];
    this.countdown.textContent = "";
    this.button.hidden = !isWaiting;
    if (isWaiting) {
      this.count(state.untilMs);
      this.timer = setInterval(() => this.count(state.untilMs), COUNTDOWN_PAUSE_MS);
    }
  }

  count(untilMs) {
    const seconds = Math.max(0, Math.ceil((untilMs - performance.now()) / 1_000));
    this.countdown.textContent = `Next in ${seconds} s`;
  }
}

class Chat {
  constructor() {
    this.visit = new Visit();
    this.log = new Log();
    this.room = null;
    this.names = null;
    this.unconfirmed = "";
    const state = new State(() => this.connection.retry());
    this.connection = new Connection("/chat/socket", {
      opened: () => this.join(),
      received: (notice) => this[notice.type](notice),
      changed: (now) => state.show(now),
    });
    this.listen();
    if (!this.visit.name) this.askForName();
  }

  listen() {
    addEventListener("hashchange", () => {
      this.refuse("");
      this.join();
    });
    on(byId("enter"), "submit", () => {
      this.visit.rename(byId("name").value);
      this.refuse("");
      this.join();
    });
    on(byId("open-room"), "submit", () => {
      location.hash = Visit.addressOf(byId("room-name").value.toLowerCase());
      byId("open-room").reset();
    });
    on(byId("rename"), "click", () => this.askForName());
    on(byId("say"), "submit", () => this.say());
    byId("text").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      byId("say").requestSubmit();
    });
  }

  // Shows the form that asks for a name.
  askForName() {
    byId("enter").hidden = false;
    byId("chat").hidden = true;
    byId("name").value = this.visit.name ?? "";
    byId("name").focus();
  }

  join() {
    const { name, room, visitor } = this.visit;
    if (name) this.connection.send({ type: "join", room, name, visitor });
  }

  say() {
    const text = byId("text").value;
    if (!this.connection.send({ type: "say", text })) {
      this.refuse("Not connected. Your message is still here; send it when the connection is back.");
      return;
    }
    this.unconfirmed = text;
    byId("text").value = "";
    this.refuse("");
  }

  // A room that cannot be had: stays where it was, or begins where everybody does.
  goBack() {
    const wanted = this.visit.room;
    history.replaceState(null, "", Visit.addressOf(this.room ?? FIRST_ROOM));
    if (this.room === null && wanted !== FIRST_ROOM) this.join();
  }

  refuse(detail) {
    byId("refusal").textContent = detail;
    byId("refusal").hidden = !detail;
  }

  // What the server tells, by its type.

  rooms({ rooms }) {
    const link = ({ name, people }) => {
      const count = element("span", "count", `${people}`, element("span", "hidden", " here"));
      const made = element("a", "", element("span", "", name), " ", count);
      made.href = Visit.addressOf(name);
      if (name === this.room) made.setAttribute("aria-current", "true");
      return element("li", "", made);
    };
    this.listed = rooms;
    byId("rooms").replaceChildren(...rooms.map(link));
  }

  joined({ room, name }) {
    if (room !== this.room) this.log.clear();
    const isNew = byId("chat").hidden || room !== this.room;
    [this.room, this.names] = [room, null];
    this.visit.rename(name);
    byId("room-title").textContent = room;
    document.title = `${room}: Chat, Tayet`;
    this.rooms({ rooms: this.listed });
    byId("enter").hidden = true;
    byId("chat").hidden = false;
    if (isNew) byId("text").focus();
  }

  people({ room, names }) {
    if (room !== this.room) return;
    const before = this.names;
    this.names = names;
    byId("people").replaceChildren(...names.map((name) => element("li", name === this.visit.name ? "own" : "", name)));
    byId("people-count").textContent = names.length;
    if (before === null) return;
    names.filter((name) => !before.includes(name)).forEach((name) => this.log.note(`${name} came in`));
    before.filter((name) => !names.includes(name)).forEach((name) => this.log.note(`${name} left`));
  }

  said(message) {
    if (message.room === this.room) this.log.say(message, this.visit.name);
  }

  refused({ reason, detail }) {
    this.refuse(detail);
    if (["name_taken", "invalid_name"].includes(reason)) this.askForName();
    if (["invalid_room", "room_full", "too_many_rooms"].includes(reason)) this.goBack();
    if (["too_fast", "invalid_text"].includes(reason) && !byId("text").value) byId("text").value = this.unconfirmed;
  }
}

function on(target, type, act) {
  target.addEventListener(type, (event) => {
    event.preventDefault();
    act();
  });
}

// `crypto.randomUUID` is for secure contexts only, and the demo is served over plain HTTP in a network.
function madeUp() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

new Chat();
