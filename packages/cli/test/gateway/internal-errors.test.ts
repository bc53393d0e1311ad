import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { createWorkspace, isolated, MAIN } from "../support/cli.ts";

setDefaultTimeout(60_000);

const workspace = await createWorkspace();

/** Makes errors outside of all awaited calls, when told. */
const PRELOAD = `
process.on("SIGUSR2", () => { void Promise.reject(new Error("nobody waits for this")); });
process.on("SIGCONT", () => { setTimeout(() => { throw new Error("nobody catches this"); }); });
`;

test("an error outside of requests ends none of them", async () => {
  mkdirSync(workspace.path("served"), { recursive: true });
  const preload = workspace.write("preload.ts", PRELOAD);
  const args = ["serve", "s3", "--listen", "127.0.0.1:0", "--store", workspace.path("served")];
  const child = Bun.spawn([process.execPath, "--preload", preload, MAIN, ...args], {
    cwd: workspace.folder,
    env: isolated(workspace.env),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  let messages = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of child.stderr) messages += decoder.decode(piece, { stream: true });
  })();
  const until = async (text: string): Promise<void> => {
    while (!messages.includes(text) && child.exitCode === null) await Bun.sleep(20);
    expect(messages).toContain(text);
  };
  await until("serving S3 at");
  const [, url = ""] = /serving S3 at (\S+)/u.exec(messages) ?? [];
  child.kill("SIGUSR2");
  await until("idk: warning: internal error: nobody waits for this\n");
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  // What nobody catches may have left anything half done: requests may end, and then it stops.
  child.kill("SIGCONT");
  await until("idk: stopping");
  expect(await child.exited).toBe(1);
  await reading;
});
