// What survives a reload: where each upload is, and the file itself, as the browser keeps it.

const STORE = "uploads";
// Larger files are not copied into the browser's store: they go on when they are chosen again.
const MAX_KEPT_BYTES = 512 * 1024 * 1024;

/** The same file, chosen again, has the same key. */
export function keyOf(file, mode) {
  return [mode, file.name, file.size, file.lastModified].join("/");
}

/** Remembers an upload: `{ key, mode, name, size, location, file }`. */
export async function remember(upload) {
  const kept = upload.size <= MAX_KEPT_BYTES ? upload : { ...upload, file: null };
  await inStore("readwrite", (store) => store.put(kept));
}

export async function forget(key) {
  await inStore("readwrite", (store) => store.delete(key));
}

/** All that is remembered. */
export async function remembered() {
  return inStore("readonly", (store) => store.getAll());
}

async function inStore(access, use) {
  const database = await open();
  try {
    return await promised(use(database.transaction(STORE, access).objectStore(STORE)));
  } finally {
    database.close();
  }
}

function open() {
  const request = indexedDB.open("tayet", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "key" });
  return promised(request);
}

function promised(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
