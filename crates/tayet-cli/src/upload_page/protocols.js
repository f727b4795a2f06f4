// How files go: each protocol is `create(file)`, which says where the upload is, and `send(upload, transfer)`, which brings what
// is missing there and may be called again after any failure.

const FILES = "/files";
const PART_BYTES = 4 * 1024 * 1024;
const PARALLEL_PARTS = 3;
const INTEROP = "8";

/** A server's answer that is no success. Some come again by themselves. */
export class Refused extends Error {
  constructor(status) {
    super(status === 0 ? "The connection was lost" : `The server answered ${status}`);
    this.status = status;
    this.isPassing = status === 0 || status === 408 || status === 409 || status === 423 || status === 429 || status >= 500;
    this.isGone = status === 404 || status === 410;
  }
}

export const protocols = {
  tus: {
    hint: "The tus protocol 1.0.0: the upload is created, then its bytes follow in one PATCH; HEAD says where to go on.",
    canPause: true,
    async create(file) {
      const fields = { "Tus-Resumable": "1.0.0", "Upload-Length": file.size, "Upload-Metadata": `filename ${base64(file.name)}` };
      return location(await ask("POST", FILES, fields));
    },
    async send(upload, transfer) {
      const version = { "Tus-Resumable": "1.0.0" };
      const offset = offsetOf(await transfer.ask("HEAD", upload.location, version));
      if (offset === upload.size) return;
      const fields = { ...version, "Upload-Offset": offset, "Content-Type": "application/offset+octet-stream" };
      await transfer.ask("PATCH", upload.location, fields, upload.file.slice(offset), offset);
    },
  },

  ietf: {
    hint: "Resumable Uploads for HTTP, the IETF's draft: HEAD says where to go on, PATCH appends, the last one says that it is.",
    canPause: true,
    async create(file) {
      const fields = { "Upload-Draft-Interop-Version": INTEROP, "Upload-Complete": "?0", "Upload-Length": file.size, "Content-Disposition": disposition(file.name) };
      return location(await ask("POST", FILES, fields));
    },
    async send(upload, transfer) {
      const version = { "Upload-Draft-Interop-Version": INTEROP };
      const head = await transfer.ask("HEAD", upload.location, version);
      if (head.getResponseHeader("Upload-Complete") === "?1") return;
      const offset = offsetOf(head);
      const fields = { ...version, "Upload-Complete": "?1", "Upload-Offset": offset, "Content-Type": "application/partial-upload" };
      await transfer.ask("PATCH", upload.location, fields, upload.file.slice(offset), offset);
    },
  },

  range: {
    hint: "Parts with Content-Range, three at a time and in any order; the server keeps a map of what has come.",
    canPause: true,
    async create(file) {
      const fields = { "Content-Range": `bytes */${file.size}`, "Content-Disposition": disposition(file.name) };
      return location(await ask("POST", FILES, fields));
    },
    async send(upload, transfer) {
      const head = await transfer.ask("HEAD", upload.location, {});
      if (head.getResponseHeader("Upload-Complete") === "?1") return;
      const parts = missing(received(head), upload.size);
      transfer.base(upload.size - parts.reduce((sum, [first, end]) => sum + end - first, 0));
      const worker = async () => {
        for (let part = parts.shift(); part; part = parts.shift()) {
          const [first, end] = part;
          const fields = { "Content-Range": `bytes ${first}-${end - 1}/${upload.size}` };
          await transfer.ask("PATCH", upload.location, fields, upload.file.slice(first, end));
        }
      };
      await Promise.all(Array.from({ length: PARALLEL_PARTS }, worker));
    },
  },

  form: {
    hint: "A multipart form, as every browser sends it. It cannot be paused: what breaks off begins anew.",
    canPause: false,
    create: async () => null,
    async send(upload, transfer) {
      const form = new FormData();
      form.append("file", upload.file, upload.name);
      await transfer.ask("POST", FILES, {}, form);
    },
  },
};

/** Removes what the server has of an upload. */
export async function cancel(upload) {
  const fields = { tus: { "Tus-Resumable": "1.0.0" }, ietf: { "Upload-Draft-Interop-Version": INTEROP } }[upload.mode] ?? {};
  await ask("DELETE", upload.location, fields);
}

/** The requests of one upload that are under way, and how far they are. */
export class Transfer {
  #requests = new Map();
  #base = 0;
  #onProgress;

  constructor(onProgress) {
    this.#onProgress = onProgress;
  }

  /** So many bytes were there before. */
  base(bytes) {
    this.#base = bytes;
    this.#report();
  }

  /** Sends a request; its body goes behind `offset` bytes, if that is given. */
  async ask(method, target, fields, body, offset) {
    if (offset !== undefined) this.base(offset);
    return ask(method, target, fields, body, (request, sent) => {
      this.#requests.set(request, body ? sent : 0);
      this.#report();
    });
  }

  abort() {
    this.#requests.forEach((_, request) => request.abort());
  }

  #report() {
    this.#onProgress(this.#base + [...this.#requests.values()].reduce((sum, sent) => sum + sent, 0));
  }
}

function ask(method, target, fields, body, onProgress = () => {}) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, target);
    Object.entries(fields).forEach(([name, value]) => request.setRequestHeader(name, value));
    request.upload.onprogress = (event) => onProgress(request, event.loaded);
    request.onload = () => (request.status < 300 ? resolve(request) : reject(new Refused(request.status)));
    request.onerror = () => reject(new Refused(0));
    request.onabort = () => reject(new DOMException("paused", "AbortError"));
    onProgress(request, 0);
    request.send(body ?? null);
  });
}

function location(response) {
  return response.getResponseHeader("Location");
}

function offsetOf(response) {
  return Number(response.getResponseHeader("Upload-Offset"));
}

/** The ranges that the server has, as pairs of first byte and end. */
function received(response) {
  const text = response.getResponseHeader("Range")?.replace("bytes=", "") ?? "";
  return text.split(",").filter(Boolean).map((range) => {
    const [first, last] = range.split("-").map(Number);
    return [first, last + 1];
  });
}

/** What lies between them, in parts. */
function missing(ranges, size) {
  const parts = [];
  let at = 0;
  for (const [first, end] of [...ranges, [size, size]]) {
    for (; at < first; at = Math.min(first, at + PART_BYTES)) parts.push([at, Math.min(first, at + PART_BYTES)]);
    at = Math.max(at, end);
  }
  return parts;
}

function base64(text) {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)));
}

function disposition(name) {
  return `inline; filename*=UTF-8''${encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)}`;
}
