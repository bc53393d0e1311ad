import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { createWorkspace } from "../support/cli.ts";

/*
 * A gateway with the wrong MAC key would store what no rebuild accepts, and nobody would notice until the
 * catalog is lost. So it does not start.
 */

setDefaultTimeout(20_000);

const { env, idk, ok, path, read, write } = await createWorkspace();
const mine = (await ok(["recipient"])).stdout.trim();
const theirs = (await ok(["keygen", "-o", path("their.key")])).stdout.trim();
await ok(["gateway", "mac-key", "-o", path("mac.key")]);
const good = Buffer.from(read("mac.key")).toString();
const [header, recipient, key, check] = good.trimEnd().split("\n") as [
  string,
  string,
  string,
  string,
];

/** What a write-only gateway says that starts with a file, and does not. */
async function refusal(content: string | Uint8Array, ...recipients: readonly string[]) {
  const file = write("tried.key", content);
  const to = recipients.flatMap((each) => ["-r", each]);
  const { code, stderr } = await idk(
    ["serve", "s3", "--listen", "127.0.0.1:0", "--write-only", "--mac-key", file, ...to],
    { env: { ...env, IDK_RECIPIENTS: "" } },
  );
  expect(code).toBe(2);
  expect(stderr).not.toMatch(/[0-9a-f]{64}/u);
  expect(stderr).toContain("idk gateway mac-key");
  return stderr;
}

test("the file names the recipient that can rebuild the catalog", () => {
  expect(recipient).toBe(`recipient: ${mine}`);
});

test.each([
  ["32 random bytes", Buffer.alloc(32, 0xa5)],
  ["the key in hexadecimal digits", `${key.slice("key: ".length)}\n`],
  ["an identity", Buffer.from(read("their.key"))],
  ["a file without a check value", `${[header, recipient, key].join("\n")}\n`],
  ["a file of another version", good.replace("version 1", "version 2")],
  ["an empty file", ""],
])("%s is no MAC key", async (_, content) => {
  expect(await refusal(content, mine)).toContain("is not a MAC key file");
});

test.each([
  ["another recipient", good.replace(mine, theirs)],
  ["another key", good.replace(key, `key: ${"0".repeat(64)}`)],
  ["another check value", good.replace(check, `check: ${"0".repeat(64)}`)],
])("a file with %s is refused", async (_, content) => {
  expect(await refusal(content, mine, theirs)).toContain("is damaged, or was edited");
});

test("a gateway that seals for others alone is refused", async () => {
  expect(await refusal(good, theirs)).toContain(`the MAC key is that of ${mine}, which is not`);
});

test("line ends of Windows change nothing, and it is for commands that read, too", async () => {
  const file = write("windows.key", good.replaceAll("\n", "\r\n"));
  const catalog = path("new.sqlite");
  await ok(["store", "init"]);
  await ok(["gateway", "rebuild", "--catalog", catalog, "--mac-key", file]);
  expect(existsSync(catalog)).toBe(true);
});
