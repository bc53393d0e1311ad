import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, utimesSync } from "node:fs";
import {
  createWorkspace,
  expectFailure,
  MAIN,
  newFolder,
  noise,
  sameBytes,
} from "../support/cli.ts";
import { writeProtected } from "../support/protected.ts";

const workspace = await createWorkspace();
const { idk, ok, put } = workspace;
const MIB = 2 ** 20;

describe("round trips", () => {
  test.each<[name: string, content: Uint8Array]>([
    ["empty", new Uint8Array()],
    ["one byte", Uint8Array.of(0)],
    ["1 MiB", noise(MIB)],
    ["1 MiB + 1", noise(MIB + 1)],
    ["4 MiB + 1", noise(4 * MIB + 1)],
    ["20 MiB", noise(20 * MIB)],
  ])("%s, through files and through pipes", async (_, content) => {
    workspace.write("original", content);
    const { stdout, stderr } = await ok(["put", "original"]);
    expect(stdout).toMatch(/^[0-9a-f]{64}\n$/u);
    expect(stderr).toBe("");
    const piped = await ok(["get", stdout.trim()]);
    expect(sameBytes(piped.bytes, content)).toBe(true);

    const address = await put(content);
    const filed = await ok(["get", address, "-o", "copy", "--force"]);
    expect(filed.bytes.length).toBe(0);
    expect(sameBytes(workspace.read("copy"), content)).toBe(true);
  });

  test("stores a named pipe", async () => {
    const fifo = workspace.path("fifo");
    expect(Bun.spawnSync(["mkfifo", fifo]).exitCode).toBe(0);
    const writer = Bun.spawn(["sh", "-c", 'printf "through a pipe" > "$0"', fifo]);
    const { stdout } = await ok(["put", "fifo"]);
    await writer.exited;
    expect((await ok(["get", stdout.trim()])).stdout).toBe("through a pipe");
  });
});

describe("put", () => {
  test("stores the name and date of a file, never its path, unless --no-name is given", async () => {
    const metadataOf = async (address: string): Promise<unknown> =>
      JSON.parse((await ok(["stat", address.trim(), "--json"])).stdout).metadata;
    const file = workspace.write("private name.txt", "x");
    const mtime = 1_000_000_000_123;
    utimesSync(file, mtime / 1000, mtime / 1000);
    const own = { name: "private name.txt", mtime };
    expect(await metadataOf((await ok(["put", file])).stdout)).toEqual(own);
    const renamed = await ok(["put", file, "--name", "tax.txt", "--type", "text/plain"]);
    expect(await metadataOf(renamed.stdout)).toEqual({
      name: "tax.txt",
      mtime,
      type: "text/plain",
    });
    const nameless = await ok(["put", file, "--no-name", "--type", "text/plain"]);
    expect(await metadataOf(nameless.stdout)).toEqual({ type: "text/plain" });
    expect(await metadataOf(await put("x"))).toEqual({});
    const named = await put("x", "--name", "tax.pdf", "--type", "application/pdf");
    expect(await metadataOf(named)).toEqual({ name: "tax.pdf", type: "application/pdf" });
  });

  test("with a dedup secret, stores only an explicit name, so that identical content is stored once", async () => {
    workspace.write("secret", noise(32));
    for (const name of ["one", "other"]) workspace.write(name, "the same");
    const args = ["--dedup-secret", "secret"];
    const one = await ok(["put", "one", ...args]);
    expect((await ok(["put", "other", ...args])).stdout).toBe(one.stdout);
    expect((await ok(["put", "other", ...args, "--name", "other"])).stdout).not.toBe(one.stdout);
  });

  test("uses the given chunk size and padding", async () => {
    const content = noise(MIB + 5);
    const statOf = async (...args: string[]) =>
      JSON.parse((await ok(["stat", await put(content, ...args), "--json"])).stdout) as unknown;
    expect(await statOf("--chunk-size", "256K", "--no-padding")).toMatchObject({
      size: MIB + 5,
      chunkSize: 2 ** 18,
      chunks: 5,
      depth: 1,
      padding: 0,
    });
    expect(await statOf("--chunk-size", "1MiB")).toMatchObject({
      chunkSize: MIB,
      padding: 2 ** 15 - 5,
    });
    expect(await statOf("--chunk-size", "16777216")).toMatchObject({
      chunkSize: 2 ** 24,
      chunks: 1,
    });
  });

  test("accepts a dedup secret as bytes and as hex", async () => {
    const secret = noise(32, 7);
    workspace.write("raw", secret);
    workspace.write("hex", `${Buffer.from(secret).toString("hex")}\n`);
    const content = noise(2 * MIB);
    const address = await put(content, "--dedup-secret", "raw");
    expect(await put(content, "--dedup-secret", "hex")).toBe(address);
    expect(await put(content)).not.toBe(address);
  });

  test("--json", async () => {
    const { stdout } = await ok(["put", "-", "--json"], { stdin: "x" });
    expect(JSON.parse(stdout)).toEqual({
      address: expect.stringMatching(/^[0-9a-f]{64}$/u),
      bytes: 1,
      chunks: 0,
      newChunks: 0,
      newBytes: 1,
      skippedChunks: 0,
      skippedBytes: 0,
      sentBlobs: 1,
      sentBytes: expect.any(Number),
    });
  });

  test("reports an unreadable file before storing anything", async () => {
    const env = { IDK_STORE: "untouched" };
    expectFailure(
      await idk(["put", "missing"], { env }),
      2,
      "cannot read missing: no such file or folder",
    );
    expectFailure(await idk(["put", "me.key/x"], { env }), 2, "not a folder");
    expectFailure(await idk(["ls"], { env }), 6, "untouched does not exist");
  });

  test("reports a store that cannot be created as unavailable", async () => {
    expectFailure(await idk(["put", "me.key"], { env: { IDK_STORE: "me.key" } }), 6, "me.key");
  });

  test("creates the store readable by its owner only", async () => {
    const address = await put("closed");
    expect(statSync(workspace.path("blobs")).mode & 0o077).toBe(0);
    expect(statSync(workspace.blob(address)).mode & 0o077).toBe(0);
  });
});

describe("ranges", () => {
  const content = noise(3 * MIB);

  test.each<[range: string, start: number, end: number]>([
    ["0-100", 0, 100],
    ["-100", 0, 100],
    ["3145700-", 3145700, 3 * MIB],
    ["262143-262145", 262143, 262145],
    ["5-5", 5, 5],
  ])("%s", async (range, start, end) => {
    const address = await put(content, "--chunk-size", "256K");
    const { bytes } = await ok(["get", address, "--range", range]);
    expect(sameBytes(bytes, content.subarray(start, end))).toBe(true);
  });

  test("that ends after the content is read up to its end", async () => {
    const address = await put("short");
    expect((await ok(["get", address, "--range", "2-1000000"])).stdout).toBe("ort");
    expect((await ok(["get", address, "--range", "5-6"])).stdout).toBe("");
    const json = await ok(["get", address, "--range", "2-1000000", "-o", "part", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({ size: 5, written: 3 });
    expect(await Bun.file(workspace.path("part")).text()).toBe("ort");
    await ok(["get", address, "--range", "2-1000000", "--max-size", "3"]);
  });

  test("that starts after the content is rejected with the content's size", async () => {
    const address = await put("short");
    for (const range of ["6-", "6-7"]) {
      const text = "--range starts at byte 6, and the content has 5 bytes";
      expectFailure(await idk(["get", address, "--range", range]), 2, text);
    }
  });
});

describe("identities and recipients", () => {
  test("allows only the named recipients to read", async () => {
    await ok(["keygen", "-o", "other.key"]);
    const address = await put("for me");
    const refused = await idk(["get", address, "-i", "other.key"]);
    expectFailure(refused, 4, "none of the given identities opens this blob");
    expect(refused.stdout).toBe("");
    const both = await ok(["get", address, "-i", "other.key", "-i", "me.key"]);
    expect(both.stdout).toBe("for me");
  });

  test("decrypts with a passphrase-protected identity", async () => {
    const env = { IDK_PASSPHRASE: "tr0ub4dor", IDK_IDENTITY: "safe.key" };
    const recipient = await writeProtected(workspace.path("safe.key"), env.IDK_PASSPHRASE);
    const address = await put("locked", "-r", recipient);
    expect((await ok(["get", address], { env })).stdout).toBe("locked");
    const wrong = await idk(["get", address], { env: { ...env, IDK_PASSPHRASE: "troubador" } });
    expectFailure(wrong, 4, "the passphrase does not open");
  });
});

test("keeps memory bounded for any length", async () => {
  // Without waiting for the disk: while puts are slow, more chunks are in flight.
  const script = `head -c 201326592 /dev/zero | /usr/bin/env -- "$0" "$1" put - --store "file://$2?durability=none"`;
  const store = newFolder();
  const child = Bun.spawn(["sh", "-c", script, process.execPath, MAIN, store], {
    env: { ...workspace.env, PATH: process.env["PATH"] ?? "" },
    cwd: workspace.folder,
    stdout: "pipe",
  });
  let peak = 0;
  const pids = () =>
    readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
  while (child.exitCode === null && process.platform === "linux") {
    try {
      for (const pid of pids()) {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/u.exec(status)?.[1] ?? 0));
      }
    } catch {
      // Removed since it was listed.
    }
    await Bun.sleep(5);
  }
  expect(await child.exited).toBe(0);
  expect(peak).toBeLessThan(160 * 1024);
});
