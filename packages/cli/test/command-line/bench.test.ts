import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bench } from "../../src/bench.ts";
import { createWorkspace, expectFailure, isolated, MAIN, until } from "../support/cli.ts";

const { idk } = await createWorkspace();
const folder = mkdtempSync(join(tmpdir(), "idk-bench-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program in place of the benchmarks. */
function program(name: string, source: string): () => string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return () => path;
}

describe("idk bench", () => {
  test("lists the suites", async () => {
    const { code, stdout, stderr } = await idk(["bench", "--list"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^ +suite +measures/u);
    expect(stdout).toMatch(/^ +hash-perf +\S/mu);
  });

  test("has its own help, and is listed in the command's", async () => {
    expect((await idk(["bench", "--help"])).stdout).toStartWith("Usage: idk bench [options]");
    expect((await idk(["--help"])).stdout).toMatch(/ bench +measure performance$/mu);
    expect((await idk(["help", "bench"])).stdout).toContain("idk bench --help");
  });

  test("parses flags that the command also has", async () => {
    const { code, stderr } = await idk(["bench", "hash", "--json", "x", "--store", "minio://h/b"]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^idk bench: there is no suite "hash"/u),
    ]);
  });

  test("must come before all flags", async () => {
    expectFailure(await idk(["--store", "x", "bench", "--list"]), 2, "`idk bench` must come first");
  });

  test("says what to do if the benchmarks are not installed", async () => {
    const script = join(folder, "missing.ts");
    const source = pathToFileURL(join(import.meta.dir, "../../src/bench.ts")).href;
    writeFileSync(
      script,
      `const { bench } = await import("${source}");
       process.exit(await bench([], () => { throw new Error("no such package"); }));`,
    );
    const child = Bun.spawnSync([process.execPath, script], { env: isolated() });
    expect(child.stderr.toString()).toContain(
      "@idk/bench, which is not installed: run it in a clone",
    );
    expect(child.exitCode).toBe(2);
  });

  test("passes on arguments and the exit code", async () => {
    const resolve = program("code.ts", "process.exit(Number(process.argv[2]));");
    expect(await bench(["0"], resolve)).toBe(0);
    expect(await bench(["77"], resolve)).toBe(77);
  });

  test("exits as if ended by the same signal", async () => {
    const resolve = program("killed.ts", "process.kill(process.pid, 'SIGKILL');");
    expect(await bench([], resolve)).toBe(137);
  });
});

describe("an interruption of idk bench", () => {
  test("reaches the benchmarks, which clean up, and exits with 130", async () => {
    const started = join(folder, "started");
    const cleaned = join(folder, "cleaned");
    const resolve = program(
      "cleans.ts",
      `import { writeFileSync } from "node:fs";
       process.on("SIGINT", () => { writeFileSync(${JSON.stringify(cleaned)}, ""); process.exit(130); });
       writeFileSync(${JSON.stringify(started)}, "");
       setTimeout(() => {}, 60_000);`,
    );
    const script = join(folder, "runs.ts");
    const source = pathToFileURL(join(import.meta.dir, "../../src/bench.ts")).href;
    writeFileSync(
      script,
      `const { bench } = await import("${source}");
       process.exit(await bench([], () => "${resolve()}"));`,
    );
    const child = Bun.spawn([process.execPath, script], { env: isolated() });
    await until(() => existsSync(started));
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(existsSync(cleaned)).toBe(true);
  });

  test("ends the real benchmarks, and leaves nothing", async () => {
    const child = Bun.spawn(
      [process.execPath, MAIN, "bench", "hash-perf", "--iterations", "100000"],
      {
        cwd: folder,
        env: isolated(),
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    let said = "";
    const reading = (async () => {
      for await (const piece of child.stderr) said += new TextDecoder().decode(piece);
    })();
    await until(() => said.includes("[1/1] hash-perf"));
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    await reading;
    expect(said).toEndWith("idk bench: interrupted\n");
  });
});
