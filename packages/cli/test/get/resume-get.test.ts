import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { processIdentity } from "../../src/get/part-file.ts";
import { createWorkspace, expectFailure, noise, sameBytes } from "../support/cli.ts";
import { interrupted, partsIn } from "../support/interrupted.ts";

const workspace = await createWorkspace();
const { idk, ok, path } = workspace;
const MIB = 2 ** 20;
const content = noise(24 * MIB, 5);
workspace.write("film", content);

describe("a get that was interrupted", () => {
  const stored = ok(["put", "film", "--chunk-size", "256K"]).then(({ stdout }) => stdout.trim());
  const parts = () => partsIn(workspace.folder);
  const get = async (...args: string[]) => ["get", await stored, "-o", "copy", "--resume", ...args];

  async function interruptedGet(signal: NodeJS.Signals = "SIGKILL") {
    for (const name of [...parts(), "copy"]) rmSync(path(name), { force: true });
    const size = () =>
      Math.max(
        0,
        ...parts().map((name) => statSync(path(name), { throwIfNoEntry: false })?.size ?? 0),
      );
    const result = await interrupted(workspace, await get(), {
      signal,
      when: () => size() > 3 * MIB,
    });
    const [part = ""] = parts();
    return { part, ...result };
  }

  async function expectCopy() {
    expect(sameBytes(workspace.read("copy"), content)).toBe(true);
    expect(statSync(path("copy")).mode & 0o777).toBe(0o666 & ~process.umask());
    expect(parts()).toEqual([]);
    rmSync(path("copy"));
  }

  test("resumes after the valid part, and leaves nothing else", async () => {
    const { part } = await interruptedGet();
    expect(statSync(path(part)).mode & 0o777).toBe(0o600);
    const { stdout } = await ok(await get("--json"));
    const { size, written, continued } = JSON.parse(stdout) as Record<string, number>;
    expect({ size, written }).toEqual({ size: content.length, written: content.length });
    expect(continued).toBeGreaterThanOrEqual(3 * MIB);
    await expectCopy();
  });

  test("prints after Ctrl-C what is kept and how to resume", async () => {
    const { part, stderr, code } = await interruptedGet("SIGINT");
    expect(code).toBe(130);
    expect(stderr).toContain(
      `verified and kept in ${part}: run the same command again to resume\nidk: interrupted\n`,
    );
    expect((await ok(await get())).stderr).toMatch(
      /^idk: resumed: \d+ bytes [^\n]* already fetched\n$/u,
    );
    await expectCopy();
  });

  test.each<[what: string, continued: RegExp, change: (file: string) => void]>([
    ["changed at its start", /resumed: 0 bytes/u, (file) => overwrite(file, 10)],
    ["changed in the middle", /resumed: 2097152 bytes/u, (file) => overwrite(file, 2 * MIB + 1)],
    [
      "longer than the content",
      /resumed: \d{7} bytes/u,
      (file) => appendFileSync(file, noise(30 * MIB, 9)),
    ],
  ])("verifies the partial file: %s", async (_, continued, change) => {
    const { part } = await interruptedGet();
    change(path(part));
    expect((await ok(await get())).stderr).toMatch(continued);
    await expectCopy();
  });

  test("starts over with --no-resume, and removes partial files", async () => {
    await interruptedGet();
    expect((await ok(["get", await stored, "-o", "copy", "--no-resume"])).stderr).toBe("");
    await expectCopy();
  });

  test("keeps the verified part if a later chunk is damaged", async () => {
    const env = { IDK_STORE: "damaged" };
    const address = (await ok(["put", "film", "--chunk-size", "256K"], { env })).stdout.trim();
    const newest = (await ok(["ls"], { env })).stdout
      .trim()
      .split("\n")
      .filter((name) => name !== address)
      .map((name) => join(path(env.IDK_STORE), name.slice(0, 2), name))
      .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]!;
    const good = readFileSync(newest);
    writeFileSync(newest, noise(good.length));
    const args = ["get", address, "-o", "copy", "--resume"];
    for (let attempt = 0; attempt < 2; attempt++) {
      const { code, stderr } = await idk(args, { env });
      expect(code).toBe(5);
      expect(stderr).toContain("verified and kept");
      expect(existsSync(path("copy"))).toBe(false);
    }
    writeFileSync(newest, good);
    expect((await ok(args, { env })).stderr).toStartWith("idk: resumed: 2");
    await expectCopy();
  });

  test("touches only its own files", async () => {
    const { part } = await interruptedGet();
    const held = path("held");
    writeFileSync(held, readFileSync(path(part)), { mode: 0o600 });
    const before = readFileSync(held);
    const replacements: (() => void)[] = [
      () => symlinkSync(held, path(part)),
      () => linkSync(held, path(part)),
      () => {
        writeFileSync(path(part), before);
        chmodSync(path(part), 0o666);
      },
    ];
    for (const replace of replacements) {
      rmSync(path(part), { force: true });
      replace();
      expect((await ok(await get())).stderr).toBe("");
      expect(sameBytes(readFileSync(held), before)).toBe(true);
      await expectCopy();
    }
    rmSync(held);
  });

  test("does not touch the partial file of a running process", async () => {
    const running = Bun.spawn(["sleep", "60"]);
    const writer = processIdentity(running.pid);
    const name = `.copy.${(await stored).slice(0, 16)}.${writer}.0123456789ab.idk-part`;
    try {
      writeFileSync(path(name), content.subarray(0, 5 * MIB), { mode: 0o600 });
      expect((await ok(await get())).stderr).toBe("");
      expect(parts()).toEqual([name]);
      rmSync(path("copy"));
    } finally {
      running.kill("SIGKILL");
      await running.exited;
    }
    expect((await ok(await get())).stderr).toStartWith("idk: resumed: 5242880 bytes");
    await expectCopy();
  });

  test("works with names of any length", async () => {
    const name = "ü".repeat(120);
    await ok(["get", await stored, "-o", name, "--resume"]);
    expect(sameBytes(workspace.read(name), content)).toBe(true);
    expect(parts()).toEqual([]);
  });

  test("needs a whole file", async () => {
    const address = await stored;
    expectFailure(await idk(["get", address, "--resume"]), 2, "--resume needs -o FILE");
    expectFailure(
      await idk(["get", address, "-o", "x", "--resume", "--range", "0-5"]),
      2,
      "--resume excludes --range",
    );
  });

  function overwrite(file: string, offset: number): void {
    const bytes = readFileSync(file);
    bytes[offset]! ^= 1;
    writeFileSync(file, bytes);
  }
});
