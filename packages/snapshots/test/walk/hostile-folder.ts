import type { Folder, Host } from "../../src/files/host.ts";
import { closeSync, constants, ftruncateSync, writeSync } from "node:fs";

const { O_CREAT, O_EXCL, O_WRONLY } = constants;
const bytes = (text: string): Uint8Array => Buffer.from(text);

/** Fills an empty folder with everything that a file system of Linux takes. */
export function makeHostile(host: Host, folder: Folder): void {
  const file = (parent: Folder, name: Uint8Array, content = ""): void => {
    const fd = host.openFile(parent, name, O_WRONLY | O_CREAT | O_EXCL, 0o644);
    writeSync(fd, content);
    closeSync(fd);
  };
  const below = (parent: Folder, name: string, fill: (folder: Folder) => void): void => {
    host.makeFolder(parent, bytes(name), 0o755);
    const open = host.openFolder(parent, bytes(name));
    fill(open);
    host.close(open);
  };

  below(folder, "names", (names) => {
    for (let byte = 1; byte < 256; byte += 1) {
      if (byte === 0x2e || byte === 0x2f) continue;
      file(names, Uint8Array.of(byte));
      file(names, Uint8Array.of(byte, byte), "two");
    }
    for (const text of ["-rf", "a\nb", "a\r", "😀", "é", "e\u0301", " ", "a b", "...", "\\", "*"]) {
      if (text.length > 1 || text > "\x7f") file(names, bytes(text));
    }
    file(names, new Uint8Array(255).fill(0xff));
    file(names, new Uint8Array(255).fill(0x61));
  });
  // "a" sorts before "a.b" as a name, and "a/x" after "a.b" as a path.
  below(folder, "order", (order) => {
    below(order, "a", (inner) => file(inner, bytes("x")));
    for (const name of ["a.b", "a-b", "a0", "a\x01"]) file(order, bytes(name));
  });
  below(folder, "empty", () => {});
  below(folder, "modes", (modes) => {
    for (const mode of [0o000, 0o444, 0o777, 0o1777, 0o2755, 0o4755, 0o6755]) {
      file(modes, bytes(mode.toString(8)));
      host.setMode(modes, bytes(mode.toString(8)), mode);
    }
  });
  below(folder, "times", (times) => {
    const all = [
      [-1, 999_999_999],
      [-2_000_000_000, 1],
      [2 ** 32 + 7, 123_456_789],
      [2 ** 31, 0],
      [0, 1],
    ] as const;
    for (const [at, [seconds, nanoseconds]] of all.entries()) {
      file(times, bytes(`t${at}`));
      host.setTime(times, bytes(`t${at}`), { seconds, nanoseconds });
      host.makeLink(times, bytes(`l${at}`), bytes("nowhere"));
      host.setTime(times, bytes(`l${at}`), { seconds, nanoseconds });
    }
  });
  below(folder, "links", (links) => {
    const targets = ["/", "..", "../../../../etc", "self", "no\nwhere", "x".repeat(4000), "\xff"];
    for (const [at, target] of targets.entries()) {
      host.makeLink(links, bytes(at === 3 ? "self" : `link${at}`), Buffer.from(target, "latin1"));
    }
    file(links, bytes("one"), "linked");
    for (const name of ["two", "three"]) host.linkFile(links, bytes("one"), links, bytes(name));
    host.linkFile(links, bytes("self"), links, bytes("self-again"));
  });
  below(folder, "special", (special) => {
    host.makeSpecial(special, bytes("fifo"), "fifo", 0o644, 0, 0);
    host.makeSpecial(special, bytes("socket"), "socket", 0o755, 0, 0);
    if (process.getuid?.() === 0) {
      host.makeSpecial(special, bytes("char"), "character-device", 0o600, 4, 70_000);
      host.makeSpecial(special, bytes("block"), "block-device", 0o600, 300, 3);
    }
    const fd = host.openFile(special, bytes("holes"), O_WRONLY | O_CREAT | O_EXCL);
    writeSync(fd, "x", 5 * 2 ** 20);
    ftruncateSync(fd, 20 * 2 ** 20);
    closeSync(fd);
  });
}

/** Makes folders one in another, with a file in the last. */
export function makeDeep(host: Host, folder: Folder, levels: number, name: Uint8Array): void {
  let current = folder;
  for (let level = 0; level < levels; level += 1) {
    host.makeFolder(current, name, 0o755);
    const next = host.openFolder(current, name);
    if (current !== folder) host.close(current);
    current = next;
  }
  closeSync(host.openFile(current, bytes("end"), O_WRONLY | O_CREAT | O_EXCL));
  if (current !== folder) host.close(current);
}
