import { test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { createWorkspace, expectFailure, isolated, MAIN, newFolder } from "../support/cli.ts";

const MISSING = "f".repeat(64);

const workspace = await createWorkspace();
await workspace.put("x");

/** Root can read everything, unless it drops the capabilities for it. */
const drop =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : [];

const run = async (...args: string[]) => {
  const child = Bun.spawn([...drop, process.execPath, MAIN, ...args], {
    cwd: "/",
    env: isolated({ ...workspace.env, IDK_STORE: workspace.path("blobs") }),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { stdout, stderr, bytes: new Uint8Array(), code: await child.exited };
};

const possible = process.getuid?.() !== 0 || Bun.which("setpriv") !== null;
if (!possible && process.env["CI"]) throw new Error("as root, this test needs setpriv");
const asUser = possible ? test : test.skip;

asUser("a store that refuses", async () => {
  chmodSync(workspace.path("blobs"), 0o000);
  try {
    expectFailure(await run("ls"), 6, "permission denied");
    expectFailure(await run("put", "/etc/passwd"), 6, "permission denied");
    expectFailure(await run("rm", MISSING), 6, "permission denied");
  } finally {
    chmodSync(workspace.path("blobs"), 0o700);
  }
});

asUser("files that refuse", async () => {
  const closed = `${newFolder()}/closed`;
  writeFileSync(closed, "", { mode: 0o000 });
  expectFailure(await run("put", closed), 2, `cannot read ${closed}: permission denied`);
  const opened = await run("recipient", "-i", closed);
  expectFailure(opened, 2, `cannot read the identity file ${closed}: permission denied`);
});
