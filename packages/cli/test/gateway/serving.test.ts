import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { createWorkspace, until as eventually, isolated, MAIN } from "../support/cli.ts";

setDefaultTimeout(60_000);

const workspace = await createWorkspace();
const { path, write } = workspace;

/** `idk serve s3` with its messages so far. */
function serve(preload: readonly string[], ...args: readonly string[]) {
  mkdirSync(path("served"), { recursive: true });
  const all = ["serve", "s3", "--listen", "127.0.0.1:0", "--store", path("served"), ...args];
  const child = Bun.spawn([process.execPath, ...preload, MAIN, ...all], {
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
  return {
    child,
    messages: () => messages,
    async until(text: string): Promise<void> {
      while (!messages.includes(text) && child.exitCode === null) await Bun.sleep(20);
      if (child.exitCode !== null) await reading;
      expect(messages).toContain(text);
    },
    async ended(): Promise<number> {
      const code = await child.exited;
      await reading;
      return code;
    },
  };
}

/** Makes errors outside of all awaited calls, when told. */
const PRELOAD = `
process.on("SIGUSR2", () => { void Promise.reject(new Error("nobody waits for this")); });
process.on("SIGCONT", () => { setTimeout(() => { throw new Error("nobody catches this"); }); });
`;

test("an error outside of requests ends none of them", async () => {
  const preload = write("preload.ts", PRELOAD);
  const { child, messages, until, ended } = serve(["--preload", preload]);
  await until("serving S3 at");
  const [, url = ""] = /serving S3 at (\S+)/u.exec(messages()) ?? [];
  child.kill("SIGUSR2");
  await until("idk: warning: internal error: nobody waits for this\n");
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  // What nobody catches may have left anything half done: requests may end, and then it stops.
  child.kill("SIGCONT");
  await until("idk: stopping");
  expect(await ended()).toBe(1);
});

test("SIGHUP while the catalog is opened ends nothing", async () => {
  const connected = Promise.withResolvers<void>();
  const silent = createServer(() => connected.resolve());
  await new Promise<void>((resolve) => {
    silent.listen(0, "127.0.0.1", resolve);
  });
  const { port } = silent.address() as AddressInfo;
  const keys = write("keys.toml", '[keys.ABC]\nsecret = "correct horse"\n');
  chmodSync(keys, 0o600);
  const catalog = `postgres://user:password@127.0.0.1:${port}/none`;
  const { child, until, ended } = serve([], "--catalog", catalog, "--credentials", keys);
  await connected.promise;
  child.kill("SIGHUP");
  await until("idk: read the credentials again: 1 key\n");
  child.kill("SIGTERM");
  expect(await ended()).not.toBe(129);
  silent.close();
});

test("gc without a snapshot of the catalog says to start a gateway, which stores one", async () => {
  mkdirSync(path("swept"));
  const over = ["--store", path("swept"), "--catalog", path("swept.sqlite")];
  await workspace.ok(["gateway", "rebuild", ...over]);
  const refused = await workspace.idk(["gateway", "gc", ...over]);
  expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining("start a gateway")]);
  const { child, until, ended } = serve([], ...over);
  await until("serving S3 at");
  // Not at its end, when it would store one, too.
  await eventually(async () => (await workspace.idk(["gateway", "gc", ...over])).code === 0);
  child.kill("SIGKILL");
  await ended();
});
