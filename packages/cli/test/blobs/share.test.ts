import { describe, expect, test } from "bun:test";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const workspace = await createWorkspace();
const { idk, ok, put, recipient } = workspace;
const bob = (await ok(["keygen", "-o", "bob.key"])).stdout.trim();
const eve = (await ok(["keygen", "-o", "eve.key"])).stdout.trim();
workspace.write("bob.pub", `${bob}\n`);

const canRead = async (address: string, key: string) =>
  (await idk(["get", address, "-i", key])).code === 0;

describe("share", () => {
  test("adds a recipient, keeps the user's own, and lists the readers", async () => {
    const content = noise(2 ** 20 + 5);
    const address = await put(content, "--name", "film");
    const { stdout, stderr } = await ok(["share", address.slice(0, 20), "-r", bob]);
    const shared = stdout.trim();
    expect(shared).toMatch(/^[0-9a-f]{64}$/u);
    expect(stderr).toBe(
      [
        "idk: 2 recipients can read the new address:",
        `  ${recipient} (yours)`,
        `  ${bob}`,
        `idk: note: ${address} stays until you remove it with \`idk rm\` ` +
          "(without --tree, because both share the chunks); anyone who kept a copy can still read it",
        "",
      ].join("\n"),
    );
    expect(await canRead(shared, "bob.key")).toBe(true);
    expect(await canRead(shared, "me.key")).toBe(true);
    expect(await canRead(shared, "eve.key")).toBe(false);
    expect(await canRead(address, "bob.key")).toBe(false);
    // Only the root is new.
    expect((await ok(["ls"])).stdout.split("\n")).toHaveLength(3 + 1);
    await ok(["rm", address]);
    expect((await ok(["get", shared, "-i", "bob.key"])).bytes.length).toBe(content.length);
  });

  test("says that other recipients have to be named again", async () => {
    const address = await put("for two", "-r", recipient, "-r", eve);
    const { stdout, stderr } = await ok(["share", address, "-R", "bob.pub"]);
    expect(stderr).toContain(
      `${address} has 2 recipients and does not list them. Recipients not listed here cannot open ` +
        "the new address; to include them, share again with -r for each\n",
    );
    expect(stderr).toEndWith("with `idk rm`; anyone who kept a copy can still read it\n");
    expect(await canRead(stdout.trim(), "eve.key")).toBe(false);
    const all = (await ok(["share", address, "-r", bob, "-r", eve])).stdout.trim();
    for (const key of ["me.key", "bob.key", "eve.key"]) expect(await canRead(all, key)).toBe(true);
  });

  test("prints the same as one JSON object", async () => {
    const address = await put("x");
    const { stdout, stderr } = await ok(["share", address, "-r", bob, "-r", recipient, "--json"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      address: expect.stringMatching(/^[0-9a-f]{64}$/u),
      previous: address,
      recipients: [recipient, bob],
      previousRecipients: 1,
    });
  });

  test("shares only with recipients on the command line", async () => {
    const address = await put("x");
    const env = { IDK_RECIPIENTS: bob };
    expectFailure(await idk(["share", address], { env }), 2, "name a recipient with -r");
    expectFailure(await idk(["share", address, "-r", "idk1x"]), 2, "recipient: ");
    expectFailure(await idk(["share", address, "-R", "nobody"]), 2, "no such file");
    expectFailure(await idk(["share", address, "-r", bob, "-i", "eve.key"]), 4, "identities");
    expectFailure(await idk(["share", "f".repeat(64), "-r", bob]), 3, "f".repeat(64));
    expectFailure(await idk(["share"]), 2, "name an ADDRESS, or a list of addresses");
    expect((await ok(["stat", address, "--json"])).stdout).toContain('"recipients":1');
  });
});
