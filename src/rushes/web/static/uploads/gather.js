// Files out of what was dropped: also those in folders, and with a handle where the browser gives
// one, so that an upload can go on after a reload without asking for the file again.

/** Return [{file, handle, folder}] of a drop. The first step has to be made before any `await`. */
export function gather(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const started = items.map((item) => ({
    handle: item.getAsFileSystemHandle?.().catch(() => null),
    entry: item.webkitGetAsEntry?.(),
    file: item.getAsFile(),
  }));
  return Promise.all(started.map(open)).then((found) => found.flat());
}

/** The same of an <input type=file>, of files or of a folder. */
export const ofInput = (input) =>
  [...input.files].map((file) => ({ file, handle: null, folder: folderOf(file.webkitRelativePath) }));

async function open({ handle, entry, file }) {
  const known = await handle;
  if (known?.kind === "directory") return walkHandle(known, known.name);
  if (entry?.isDirectory) return walkEntry(entry);
  return file ? [{ file, handle: known ?? null, folder: null }] : [];
}

async function walkHandle(folder, path) {
  const found = [];
  for await (const one of folder.values()) {
    if (one.name.startsWith(".")) continue;
    if (one.kind === "directory") found.push(...(await walkHandle(one, `${path}/${one.name}`)));
    else found.push({ file: await one.getFile(), handle: one, folder: path });
  }
  return found;
}

async function walkEntry(entry) {
  if (entry.name.startsWith(".")) return [];
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, handle: null, folder: folderOf(entry.fullPath.slice(1)) }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found; // it hands out a hundred at a time
    for (const one of some) found.push(...(await walkEntry(one)));
  }
}

const folderOf = (path) => path?.split("/").slice(0, -1).join("/") || null;
