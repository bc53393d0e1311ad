import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "bun:test";
import type { Host } from "../../src/files/host.ts";
import { describe as describeEntry } from "../../src/walk/describe.ts";
import { join } from "node:path";
import { openHost } from "../../src/files/open-host.ts";
import { tmpdir } from "node:os";

test.skipIf(process.platform !== "linux")(
  "owners and attributes, of files and folders",
  async () => {
    const host = await openHost();
    const path = mkdtempSync(join(tmpdir(), "idk-describe-"));
    const folder = host.openRoot(Buffer.from(path));
    const name = Buffer.from("file");
    writeFileSync(join(path, "file"), "");
    host.setAttribute(folder, name, "user.a", Buffer.from("value"));
    host.setAttributeOpen(folder.fd, "user.folder", Buffer.from("of the folder"));
    const problems: string[] = [];
    const report = (problem: string): void => void problems.push(problem);
    const stat = { ...host.statOpen(folder.fd), uid: 0, gid: 4_000_000_000 };
    const file = describeEntry(host, folder, name, stat, report);
    expect(file.user).toBe("root");
    expect(file.group).toBeUndefined();
    expect(Buffer.from(file.attributes!.get("user.a")!).toString()).toBe("value");
    const own = describeEntry(host, folder, undefined, stat, report);
    expect([...own.attributes!.keys()]).toEqual(["user.folder"]);
    expect(problems).toEqual([]);
    const long = {
      ...host,
      attributes: () =>
        new Map([
          ["user.x", new Uint8Array(65_536)],
          ["user.b", new Uint8Array(9)],
        ]),
    };
    expect([...describeEntry(long, folder, name, stat, report).attributes!.keys()]).toEqual([
      "user.b",
    ]);
    expect(problems).toHaveLength(1);
    const unreadable: Host = {
      ...host,
      attributes(_folder, _name, unread) {
        unread?.("one of them");
        return new Map([["user.b", new Uint8Array(9)]]);
      },
    };
    const readable = describeEntry(unreadable, folder, name, stat, report).attributes!;
    expect([...readable.keys()]).toEqual(["user.b"]);
    expect(problems.slice(1)).toEqual(["one of them"]);
    host.close(folder);
    rmSync(path, { recursive: true });
  },
);
