import { afterAll, describe, expect, test } from "bun:test";
import { createStore } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { reportOf, stackOf } from "../../src/errors/failures.ts";
import { createWorkspace, isolated, MAIN, type Result } from "../support/cli.ts";

/*
 * Text that others wrote (names, metadata, servers' responses, error codes) must not reach the
 * terminal or a log as it is: it could move the cursor, set the title, paste keys, hide text or forge
 * lines.
 */

/** One of each kind: C0, C1, a whole OSC sequence, bidi, zero-width, line separators, tags. */
const HOSTILE =
  "a\u001b]0;owned\u0007b\u009b31mc\u0085d\u202ee\u2066f\u200bg\u200dh\ufeffi\u2028j\u2029k\u00adl\u{e0041}m\u3164n\r\nidk: forged";

/** Matches if anything but plain text and line ends was printed. */
const ACTIVE =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\u{e0000}-\u{e0fff}]/u;

/** The longest line of a message: 500 characters of others' text, and our own words. */
const LINE_MAX = 1100;

const workspace = await createWorkspace();
const { idk, ok, put } = workspace;

function expectInert({ stdout, stderr }: Pick<Result, "stdout" | "stderr">): void {
  for (const text of [stdout, stderr]) {
    expect(ACTIVE.exec(text)?.[0].codePointAt(0)?.toString(16)).toBeUndefined();
    expect(text).not.toMatch(/^idk: forged/mu);
  }
}

describe("a server that responds with terminal sequences", () => {
  /** As XML can carry them: raw from U+0080 on, and C0 as references, which parsers may decode. */
  const text = HOSTILE.replaceAll("\u001b", "&#27;").replaceAll("\u0007", "&#7;");
  const long = "x".repeat(20_000);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(
        `<?xml version="1.0"?><Error><Code>Odd${text}${long}</Code><Message>${text}${long}</Message></Error>`,
        { status: 400, headers: { "content-type": "application/xml" } },
      ),
  });
  afterAll(async () => server.stop(true));
  const env = {
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
    IDK_RETRY_SECONDS: "0",
    IDK_STORE: `s3://bucket?endpoint=http://127.0.0.1:${server.port}&region=r`,
  };
  const address = "5".repeat(64);

  test.each([
    "store check",
    "store init",
    "doctor",
    "ls",
    "ls --long",
    `get ${address}`,
    `stat ${address}`,
    `verify ${address}`,
    `rm ${address}`,
    "put me.key",
    "put me.key me.key",
    `copy ${address} --from ${env.IDK_STORE} --to mirror`,
  ])("is quoted as inert text by %s", async (line) => {
    const result = await idk(line.split(" "), { env });
    expect(result.code).not.toBe(0);
    expectInert(result);
    for (const printed of `${result.stdout}\n${result.stderr}`.split("\n")) {
      expect(printed.length).toBeLessThan(LINE_MAX);
    }
    expectInert(await idk([...line.split(" "), "--json"], { env }));
  });

  test("neither do the stacks of IDK_DEBUG=1 repeat it", async () => {
    const child = Bun.spawn([process.execPath, MAIN, "get", address], {
      cwd: workspace.folder,
      env: isolated({ ...workspace.env, ...env, IDK_DEBUG: "1" }),
      stdout: "pipe",
      stderr: "pipe",
    });
    const stderr = await new Response(child.stderr).text();
    expect(stderr).toMatch(/^\s+at /mu);
    expectInert({ stdout: "", stderr });
    for (const line of stderr.split("\n")) expect(line.length).toBeLessThan(LINE_MAX);
  });
});

describe("metadata that a sender chose", () => {
  test("is inert in stat, ls --long and the notes of get, and short", async () => {
    const { env } = workspace;
    const backend = filesystem(workspace.path("blobs"));
    const store = createStore({ backend, recipients: [workspace.recipient] });
    const address = await store.put("content", {
      metadata: {
        name: `${HOSTILE}${"n".repeat(20_000)}`,
        type: HOSTILE,
        [`key ${HOSTILE.slice(0, 40)}`]: `${HOSTILE}${"v".repeat(20_000)}`,
        "idk.path": `${HOSTILE}/${HOSTILE}${"p".repeat(20_000)}`,
      },
    });
    for (const args of [
      ["stat", address],
      ["ls", "--long"],
      ["get", address, "--output-dir", "out"],
    ]) {
      const result = await ok(args, { env });
      expectInert(result);
      for (const line of `${result.stdout}\n${result.stderr}`.split("\n")) {
        expect(line.length).toBeLessThan(LINE_MAX);
      }
      expectInert(await ok([...args, "--json"], { env }));
    }
  });

  test("has its value in JSON, where it is escaped", async () => {
    const name = HOSTILE.replaceAll("\u0000", "");
    const address = await put("named", "--name", name);
    const { stdout } = await ok(["stat", address, "--json"]);
    expectInert({ stdout, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ metadata: { name } });
  });
});

describe("names of files", () => {
  test("are inert in results and failures, and --done finds them in the list", async () => {
    const name = `f ${HOSTILE.replaceAll(/[/\0]/gu, "")}`;
    workspace.write(name, "content");
    const first = await ok(["put", name, "me.key"]);
    expectInert(first);
    workspace.write("list", first.stdout);
    const second = await ok(["put", name, "me.key", "--done", "list"]);
    expect(second.stderr).toContain("2 already stored");
    // A list of a version that escaped fewer characters.
    workspace.write("old", `${first.stdout.split("  ")[0]}  family \u200d name\n`);
    workspace.write("family \u200d name", "content");
    const old = await ok(["put", "family \u200d name", "--done", "old"]);
    expect(old.stderr).toContain("1 already stored");
    expectInert(await idk(["put", `missing ${name}`, "me.key"]));
    expectInert(await idk(["get", name]));
  });
});

describe("an error", () => {
  test("with a long message keeps its beginning and its end", () => {
    const error = new Error(`cannot do it: ${"\u202ex".repeat(20_000)}: do this`);
    const { message } = reportOf(error, new AbortController().signal);
    expect(message).toStartWith("unexpected error: cannot do it: \\u202ex");
    expect(message.length).toBeLessThan(LINE_MAX);
  });

  test("cannot forge lines of a stack, by its message, its name or a cause", () => {
    const cause = Object.assign(new TypeError(`one\n    at forged (${HOSTILE})`), {
      name: HOSTILE,
    });
    const text = stackOf(new Error(HOSTILE, { cause: { toString: () => HOSTILE, cause } }));
    expect(ACTIVE.test(text)).toBe(false);
    const stack = stackOf(new Error("outer", { cause }));
    expect(ACTIVE.test(stack)).toBe(false);
    expect(stack).not.toMatch(/^(?:idk: forged|\s+at forged)/mu);
    expect(stack).toMatch(/^Error: outer\n\s+at /u);
    expect(stack).toContain("\ncaused by: ");
  });
});
