import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { createOutputFile } from "../../src/get/output-file.ts";
import { openSystemCalls } from "../../src/system-calls.ts";
import { createWorkspace, isolated, MAIN, noise, sameBytes } from "../support/cli.ts";
import { interrupted, partsIn } from "../support/interrupted.ts";

const MiB = 2 ** 20;
const workspace = await createWorkspace();
const { ok, path } = workspace;
const content = noise(64 * MiB, 7);
workspace.write("film", content);
const stored = ok(["put", "film", "--chunk-size", "256K"]).then(({ stdout }) => stdout.trim());

/** Bytes on the disk. */
const allocated = (file: string) => statSync(file).blocks * 512;

test("more than the disk can hold is refused before anything is fetched", async () => {
  mkdirSync(path("huge"));
  const options = { force: false, address: "a".repeat(64), follow: true };
  const file = await createOutputFile(path("huge/film"), options);
  const message = await file.reserve(2 ** 62).catch((error: Error) => error.message);
  expect(message).toMatch(
    /^cannot write .*film: it takes \d+ bytes \(4096 PiB\), and the disk has \d+ bytes [^;]* free; free some space or write to another disk$/u,
  );
  await file.discard();
  expect(readdirSync(path("huge"))).toEqual([]);
});

/** A shell in which the folder `small` is a file system with 48 MiB. */
const smallDisk = ["unshare", "--map-root-user", "--mount", "sh", "-c"];
const mount = "mount -t tmpfs -o size=48m tmpfs small && ";
mkdirSync(path("small"));
const { success: mounts } =
  process.platform === "linux"
    ? Bun.spawnSync([...smallDisk, `${mount}:`], { cwd: workspace.folder, stderr: "ignore" })
    : { success: false };

const name = "a get to a full disk fails before a chunk is fetched, and leaves nothing";
test.skipIf(!mounts)(mounts ? name : `${name} (skipped: cannot mount)`, async () => {
  const address = await stored;
  // A store without the chunks.
  const below = address.slice(0, 2);
  mkdirSync(path(join("roots", below)), { recursive: true });
  copyFileSync(workspace.blob(address), path(join("roots", below, address)));
  const get = `${process.execPath} ${MAIN} get ${address} -o small/film; echo $?; ls -A small`;
  const { stdout, stderr } = Bun.spawnSync([...smallDisk, mount + get], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, IDK_STORE: "roots" }),
  });
  expect(stderr.toString()).toMatch(
    /^idk: cannot write small\/film: it takes 67108864 bytes \(64 MiB\), and the disk has \d+ bytes/u,
  );
  expect(stdout.toString()).toBe("1\n");
});

/** Whether this file system can reserve room. */
async function canReserve(): Promise<boolean> {
  const calls = await openSystemCalls();
  await using file = await open(path("probe"), "w");
  calls?.reserve(file.fd, MiB);
  return allocated(path("probe")) >= MiB;
}

describe("a large partial file", () => {
  const get = async () => ["get", await stored, "-o", "copy"];

  async function killed(signal: NodeJS.Signals) {
    for (const left of [...partsIn(workspace.folder), "copy"]) rmSync(path(left), { force: true });
    const sizeOf = (part: string) => statSync(path(part), { throwIfNoEntry: false })?.size ?? 0;
    const size = () => Math.max(0, ...partsIn(workspace.folder).map(sizeOf));
    await interrupted(workspace, [...(await get()), "--resume"], {
      signal,
      when: () => size() > 9 * MiB,
    });
    return path(partsIn(workspace.folder)[0]!);
  }

  test("has only the bytes that were written when its process is killed, and continues", async () => {
    const part = await killed("SIGKILL");
    const { size } = statSync(part);
    expect(size).toBeLessThan(content.length);
    if (await canReserve()) expect(allocated(part)).toBeGreaterThanOrEqual(content.length);
    const { stdout } = await ok([...(await get()), "--resume", "--json"]);
    const { continued } = JSON.parse(stdout) as Record<string, number>;
    expect(continued).toBe(size - (size % (MiB / 4)));
    expect(sameBytes(workspace.read("copy"), content)).toBe(true);
    expect(partsIn(workspace.folder)).toEqual([]);
  });

  test("keeps no room for the rest after Ctrl-C", async () => {
    const part = await killed("SIGINT");
    expect(statSync(part).size).toBeLessThan(content.length);
    expect(allocated(part)).toBeLessThan(content.length);
  });
});
