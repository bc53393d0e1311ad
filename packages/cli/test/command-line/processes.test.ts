import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import {
  checkManners,
  createWorkspace,
  isolated,
  MAIN,
  noise,
  sameBytes,
  until,
} from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, put, path } = workspace;
const MIB = 2 ** 20;

const spawn = (args: readonly string[], env: Record<string, string> = {}) =>
  Bun.spawn([process.execPath, MAIN, ...args], {
    cwd: workspace.folder,
    env: isolated({ ...workspace.env, ...env }),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });

/** Endless content, until the process that reads it ends. */
const feed = async ({ stdin, exited }: ReturnType<typeof spawn>): Promise<void> => {
  const piece = noise(MIB);
  let gone = false;
  void exited.then(() => (gone = true));
  try {
    while (!gone) {
      void stdin.write(piece);
      // A flush into a pipe whose reader was killed may never settle.
      await Promise.race([stdin.flush(), exited]);
      await Bun.sleep(1);
    }
  } catch {
    // The pipe broke.
  }
};

const blobsIn = (store: string) =>
  existsSync(path(store))
    ? readdirSync(path(store), { recursive: true }).filter((name) => String(name).length >= 64)
    : [];

describe("interruption", () => {
  test("a killed put leaves a consistent store, and the next one succeeds", async () => {
    const env = { IDK_STORE: "killed" };
    const child = spawn(["put", "-", "--chunk-size", "256K"], env);
    const fed = feed(child);
    await until(() => blobsIn("killed").length >= 8);
    child.kill("SIGKILL");
    await Promise.all([child.exited, fed]);
    expect(await new Response(child.stdout).text()).toBe("");

    const chunks = (await ok(["ls"], { env })).stdout.trim().split("\n");
    for (const name of chunks) expect(name).toMatch(/^[0-9a-f]{64}$/u);
    const { stderr } = await ok(["verify", "--deep"], { env });
    expect(stderr).toContain("0 roots with all content");
    const content = noise(3 * MIB);
    const { stdout } = await ok(["put", "-"], { env, stdin: content });
    expect(sameBytes((await ok(["get", stdout.trim()], { env })).bytes, content)).toBe(true);
    await ok(["verify", "--deep"], { env });
  });

  test.each<[signal: "SIGINT" | "SIGTERM", code: number]>([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("%s ends a put that is waiting for input", async (signal, code) => {
    const store = `waiting-${signal}`;
    const child = spawn(["put", "-", "--json", "--chunk-size", "256K"], { IDK_STORE: store });
    void child.stdin.write(noise(2 * MIB));
    await child.stdin.flush();
    await until(() => blobsIn(store).length > 0);
    child.kill(signal);
    const stderr = await new Response(child.stderr).text();
    expect(await child.exited).toBe(code);
    expect(JSON.parse(stderr)).toEqual({ error: { code: "aborted", message: "interrupted" } });
    expect(await new Response(child.stdout).text()).toBe("");
  });

  test.each([
    "put --from-file -",
    "put other --done -",
    "get --output-dir fetched --from-file -",
    "rm --from-file -",
    "backup --name listed --files-from -",
    "init -i -",
  ])("Ctrl-C ends idk %s, which waits for a list", async (line) => {
    const child = spawn([...line.split(" "), "--json"], { IDK_STORE: "lists" });
    // More than a pipe holds, so the command is reading when this is written.
    void child.stdin.write("\n".repeat(2 ** 18));
    await child.stdin.flush();
    child.kill("SIGINT");
    const stderr = await new Response(child.stderr).text();
    expect(await child.exited).toBe(130);
    expect(JSON.parse(stderr.trim().split("\n").at(-1)!)).toEqual({
      error: { code: "aborted", message: "interrupted" },
    });
  });

  test("Ctrl-C ends a command that waits for a list from a pipe with a name", async () => {
    Bun.spawnSync(["mkfifo", path("fifo")]);
    const child = spawn(["rm", "--from-file", "fifo", "--json"], { IDK_STORE: "lists" });
    // Opened to write, and never written to.
    const writer = await open(path("fifo"), "w");
    await Bun.sleep(100);
    child.kill("SIGINT");
    const stderr = await new Response(child.stderr).text();
    expect(await child.exited).toBe(130);
    expect(stderr).toContain('"code":"aborted"');
    await writer.close();
  });

  test("a signal that is passed on as well counts once", async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `many-${i}`);
    for (const name of names) workspace.write(name, name);
    for (let round = 0; round < 4; round++) {
      const store = `twice-${round}`;
      const child = spawn(["put", ...names], { IDK_STORE: store });
      await until(() => blobsIn(store).length > 100);
      child.kill("SIGINT");
      // Another one, because the system makes one of two that are the same.
      child.kill("SIGTERM");
      const stderr = await new Response(child.stderr).text();
      expect([130, 143]).toContain(await child.exited);
      expect(stderr).toMatch(/^idk: \d+ files stored, .*\nidk: interrupted\n$/u);
    }
  });

  test("Ctrl-C during get -o --no-resume leaves no file", async () => {
    const address = await put(
      new Uint8Array(96 * MIB),
      "--chunk-size",
      "256K",
      "--dedup-secret",
      dedupSecret(),
    );
    const before = readdirSync(workspace.folder).toSorted();
    const child = spawn(["get", address, "-o", "partial", "--no-resume"]);
    await until(() => readdirSync(workspace.folder).some((name) => name.endsWith(".idk-part")));
    child.kill("SIGINT");
    const stderr = await new Response(child.stderr).text();
    expect(await child.exited).toBe(130);
    expect(stderr).toBe("idk: interrupted\n");
    expect(readdirSync(workspace.folder).toSorted()).toEqual(before);
  });

  test("a closed pipe is not reported", async () => {
    const address = await put(noise(8 * MIB));
    for (const command of [`get ${address}`, "ls --json", "--help"]) {
      const script = `{ "$0" "$1" ${command}; echo $? >&2; } | head -c1 | wc -c`;
      const child = Bun.spawn(["sh", "-c", script, process.execPath, MAIN], {
        cwd: workspace.folder,
        env: isolated(workspace.env),
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ]);
      expect(stdout.trim()).toBe("1");
      expect(stderr).toMatch(/^(0|141)\n$/u);
      if (command.startsWith("get")) expect(stderr).toBe("141\n");
    }
  });

  test("writes everything to a non-blocking pipe", async () => {
    const content = noise(3 * MIB);
    const address = await put(content);
    const lazyReader = `
import fcntl, os, subprocess, sys, time
reading, writing = os.pipe()
fcntl.fcntl(writing, fcntl.F_SETFL, fcntl.fcntl(writing, fcntl.F_GETFL) | os.O_NONBLOCK)
child = subprocess.Popen(sys.argv[1:], stdout=writing)
os.close(writing)
time.sleep(0.5)
sys.stdout.buffer.write(os.fdopen(reading, "rb").read())
sys.stdout.flush()
sys.exit(child.wait())`;
    const child = Bun.spawn(["python3", "-c", lazyReader, process.execPath, MAIN, "get", address], {
      cwd: workspace.folder,
      env: isolated(workspace.env),
      stdout: "pipe",
    });
    const bytes = new Uint8Array(await new Response(child.stdout).arrayBuffer());
    expect(await child.exited).toBe(0);
    expect(sameBytes(bytes, content)).toBe(true);
  });

  test("reports output that cannot be written", async () => {
    if (!existsSync("/dev/full")) return;
    const address = await put("x");
    const child = Bun.spawn(
      ["sh", "-c", `"$0" "$1" get ${address} > /dev/full`, process.execPath, MAIN],
      {
        cwd: workspace.folder,
        env: isolated(workspace.env),
        stderr: "pipe",
      },
    );
    expect(await new Response(child.stderr).text()).toBe(
      "idk: cannot write to standard output: no space left on the device\n",
    );
    expect(await child.exited).toBe(1);
  });
});

describe("at the same time", () => {
  test("two puts of the same content both succeed", async () => {
    const env = { IDK_STORE: "shared" };
    workspace.write("content", noise(12 * MIB));
    const args = ["put", "content", "--dedup-secret", dedupSecret(), "--chunk-size", "256K"];
    const results = await Promise.all([1, 2, 3].map(() => ok(args, { env })));
    const addresses = new Set(results.map(({ stdout }) => stdout));
    expect(addresses.size).toBe(1);
    await ok(["verify", "--deep"], { env });
    const [address = ""] = addresses;
    const { bytes } = await ok(["get", address.trim()], { env });
    expect(sameBytes(bytes, workspace.read("content"))).toBe(true);
  });

  test("of two gets to one file, one succeeds", async () => {
    const address = await put("once");
    const results = await Promise.all([1, 2].map(() => idk(["get", address, "-o", "raced"])));
    expect(results.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 2]);
    expect(workspace.read("raced").toString()).toBe("once");
  });
});

describe("unexpected errors", () => {
  test("print a stack trace only with IDK_DEBUG", async () => {
    // Opens but cannot be read: the process's own memory at address 0.
    const args = ["put", "/proc/self/mem"];
    if (!existsSync("/proc/self/mem")) return;
    const plain = await idk(args);
    expect(plain.code).toBe(2);
    const child = spawn(args, { IDK_DEBUG: "1" });
    void child.stdin.end();
    const stderr = await new Response(child.stderr).text();
    expect(stderr).toMatch(/^\s+at /mu);
    expect(stderr).toContain("caused by: ");
    expect(stderr).toEndWith(plain.stderr);
    checkManners({ stdout: "", stderr: plain.stderr });
  });
});

function dedupSecret(): string {
  if (!existsSync(path("dedup"))) workspace.write("dedup", noise(32, 3));
  return "dedup";
}
