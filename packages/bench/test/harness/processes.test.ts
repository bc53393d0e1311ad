import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run, runAside, runJob, shell } from "../../src/harness/processes.ts";

const BUSY = `
  const used = () => process.cpuUsage().user + process.cpuUsage().system;
  for (const end = used() + 300_000; used() < end; );
`;

test("measures the CPU time of all parts of a pipeline", async () => {
  const both = shell('"$1" -e "$2" | "$1" -e "$2"', [process.execPath, BUSY]);
  const { cpuSeconds } = await run({ argv: both });
  expect(cpuSeconds).toBeGreaterThan(0.6);
});

test("measures the peak of a process that a shell started", async () => {
  const mib = 400;
  const fill = `new Uint8Array(${mib} * 2 ** 20).fill(1)`;
  const { peakRss } = await run({ argv: shell('"$1" -e "$2"', [process.execPath, fill]) });
  expect(peakRss).toBeGreaterThan(mib * 2 ** 20);
  expect(peakRss).toBeLessThan(2 * mib * 2 ** 20);
});

test("fails with the output if any part of a pipeline fails", async () => {
  const failing = run({ argv: shell('(echo "disk is full" >&2; exit 3) | cat') });
  expect(await failing.catch(String)).toContain("disk is full");
});

test("a job reaches its process, and neither the process list nor the message of its failure", async () => {
  const folder = mkdtempSync(join(tmpdir(), "idk-job-"));
  try {
    const harness = join(import.meta.dir, "../../src/harness/processes.ts");
    const script = join(folder, "job.ts");
    writeFileSync(
      script,
      `import { answerJob } from ${JSON.stringify(harness)};
      await answerJob(({ secret, fail }) => {
        if (fail) throw new Error(process.argv.join(" "));
        return secret;
      });`,
    );
    expect(await runJob<string>(script, { secret: "IDK-SECRET", fail: false })).toBe("IDK-SECRET");
    const message = await runJob(script, { secret: "IDK-SECRET", fail: true }).then(String, String);
    expect(message).toContain("job.ts --job failed");
    expect(message).not.toContain("IDK-SECRET");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a job does not obey the files of the current folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "idk-planted-"));
  try {
    const plant = (name: string, text: string) => writeFileSync(join(folder, name), text);
    plant("bunfig.toml", 'preload = ["./planted.ts"]');
    plant("planted.ts", 'process.env.PLANTED = "bunfig.toml";');
    plant(".env", "PLANTED=.env");
    plant("job.ts", "console.log(JSON.stringify(process.env.PLANTED ?? null))");
    const harness = join(import.meta.dir, "../../src/harness/processes.ts");
    const script = `import { runJob } from ${JSON.stringify(harness)};
      console.log(await runJob(${JSON.stringify(join(folder, "job.ts"))}, {}));`;
    const argv = [process.execPath, "--no-env-file", "--config=/dev/null", "-e", script];
    expect(Bun.spawnSync(argv, { cwd: folder }).stdout.toString()).toBe("null\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a program that runs aside is not measured with the memory of this process", async () => {
  const large = new Uint8Array(400 * 2 ** 20).fill(1);
  const argv = ["bash", "-c", "echo $VALUE"];
  const aside = await runAside({ argv, env: { VALUE: "passed on" } });
  expect(aside.stdout).toBe("passed on\n");
  expect(aside.peakRss).toBeLessThan(200 * 2 ** 20);
  if (process.platform === "linux") {
    expect((await run({ argv })).peakRss).toBeGreaterThan(large.length);
  }
  const job = { argv: ["bash", "-c", "echo $IDK_BENCH_JOB"], env: { IDK_BENCH_JOB: "its own" } };
  expect((await runAside(job)).stdout).toBe("its own\n");
  expect(await runAside({ argv: ["false"] }).then(String, String)).toContain("false failed (1)");
});
