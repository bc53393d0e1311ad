import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { createWorkspace, expectFailure, noise } from "../support/cli.ts";

const MISSING = "f".repeat(64);

const workspace = await createWorkspace();
const { idk, ok, write } = workspace;
const bob = (await ok(["keygen", "-o", "bob.key"])).stdout.trim();

/** A store of its own, with two contents, one of them in chunks. */
let stores = 0;
async function newStore() {
  stores += 1;
  const env = { IDK_STORE: `many-${stores}` };
  const put = async (content: string | Uint8Array, name: string) =>
    (
      await ok(["put", "-", "--name", name, "--chunk-size", "256K"], { env, stdin: content })
    ).stdout.trim();
  const note = await put("a note", "note");
  const film = await put(noise(2 ** 20 + 1), "film");
  const blob = (address: string) =>
    workspace.path(`${env.IDK_STORE}/${address.slice(0, 2)}/${address}`);
  return { env, note, film, blob };
}

const lines = (stdout: string): string[] => stdout.split("\n").slice(0, -1).toSorted();
const objects = (stdout: string): Record<string, unknown>[] =>
  lines(stdout).map((line) => JSON.parse(line) as Record<string, unknown>);

describe("share", () => {
  test("prints the new and the old address of each, and a summary", async () => {
    const { env, note, film } = await newStore();
    const { stdout, stderr } = await ok(["share", note, film, "-r", bob], { env });
    const shared = new Map(
      lines(stdout).map((line) => line.split("  ").toReversed() as [string, string]),
    );
    expect([...shared.keys()].toSorted()).toEqual([note, film].toSorted());
    expect((await ok(["get", shared.get(note)!, "-i", "bob.key"], { env })).stdout).toBe("a note");
    expect(stderr).toStartWith(
      "shared 2 addresses; none failed\nidk: 2 recipients can read the new addresses:\n",
    );
    expect(stderr).toContain(`  ${bob}\n`);
    expect(stderr).toContain("idk: note: the old roots stay until you remove them");

    write("shared", stdout);
    const again = await ok(["share", "--from-file", "shared", "-r", bob], { env });
    expect(again.stderr).toContain("idk: note: 2 of the old roots have several recipients");
  });

  test("continues after a failure, with the exit code of the worst", async () => {
    const { env, note, blob, film } = await newStore();
    rmSync(blob(film));
    write("mixed", `${film}\n${note.slice(0, 20)}  by its prefix\nnonsense\n${note}\n`);
    const result = await idk(["share", "--from-file", "mixed", "-r", bob], { env });
    expect(lines(result.stdout)).toEqual([
      expect.stringMatching(new RegExp(`^[0-9a-f]{64} {2}${note}$`, "u")),
    ]);
    expect(result.stderr).toContain(`has no blob ${film}\n`);
    expect(result.stderr).toContain("idk: nonsense: the address must be 64 lowercase");
    expect(result.stderr).toContain("shared 1 address; 2 failed\n");
    expect(result.stderr).toEndWith("idk: 2 of 3 addresses failed\n");
    expect(result.code).toBe(3);
    const json = await idk(["share", "--from-file", "mixed", "-r", bob, "--json"], { env });
    expect(objects(json.stdout)).toContainEqual({
      ok: true,
      address: expect.stringMatching(/^[0-9a-f]{64}$/u),
      previous: note,
      recipients: [workspace.recipient, bob],
      previousRecipients: 1,
    });
    expect(objects(json.stdout).filter(({ ok: fine }) => fine === false)).toHaveLength(2);
  });

  test("stops if the store fails many in a row", async () => {
    const list = Array.from({ length: 40 }, (_, at) => at.toString(16).padStart(64, "0"));
    write("gone", list.join("\n"));
    // A file in place of the store.
    const env = { IDK_STORE: "gone" };
    const result = await idk(["share", "--from-file", "gone", "-r", bob], { env });
    expect(result.stderr).toContain("idk: stopped: the store failed 16 items in a row\n");
    expect(result.stderr.split("\n").length).toBeLessThan(30);
    expect(result.code).toBe(6);
  });
});

describe("rewrap", () => {
  test("writes a root for each", async () => {
    const { env, note, film } = await newStore();
    const { stdout, stderr } = await ok(["rewrap", note, film, "-r", bob], { env });
    expect(
      lines(stdout)
        .map((line) => line.slice(66))
        .toSorted(),
    ).toEqual([note, film].toSorted());
    expect(stderr).toStartWith(
      "rewrapped 2 addresses; none failed\nidk: note: recipients of the old roots can",
    );
  });

  test("reseals each and deletes the old trees, with lines that a list can hold", async () => {
    const { env, note, film, blob } = await newStore();
    write("both", `${note}\n${film}\n`);
    const args = ["rewrap", "--from-file", "both", "-r", bob, "--reseal", "--delete-old", "--yes"];
    const { stdout, stderr } = await ok([...args, "--json"], { env });
    expect(stderr).toContain('{"note":"resealed 2 addresses; none failed"}\n');
    expect(existsSync(blob(note)) || existsSync(blob(film))).toBe(false);
    expect((await ok(["ls", "-l", "-i", "bob.key"], { env })).stderr).toStartWith("2 contents, ");
    write("resealed", stdout);
    const deep = await ok(["verify", "--deep", "--from-file", "resealed", "-i", "bob.key"], {
      env,
    });
    expect(deep.stderr).toContain("2 roots with all content");
    expect(deep.stderr).toContain("idk: note: 2 lines of the list without an address skipped\n");
  });

  test("prints the addresses of resealed content at once", async () => {
    const { env, note, film } = await newStore();
    const result = await idk(["rewrap", note, MISSING, film, "-r", bob, "--reseal"], { env });
    expect(
      lines(result.stdout)
        .map((line) => line.slice(66))
        .toSorted(),
    ).toEqual([note, film].toSorted());
    expect(result.stderr).toContain("resealed 2 addresses; 1 failed\n");
    expect(result.code).toBe(3);
  });
});

describe("rewrap --reseal --delete-old of old trees that share chunks", () => {
  const reseal = ["-r", bob, "--reseal", "--delete-old", "--yes"];
  const readable = async (stdout: string, env: Record<string, string>) => {
    const resealed = objects(stdout).filter(({ removed }) => removed !== true);
    const read = async ({ address }: Record<string, unknown>) =>
      (await ok(["get", String(address), "-i", "bob.key", "-o", "-"], { env })).bytes.length;
    return (await Promise.all(resealed.map(read))).toSorted((a, b) => a - b);
  };

  test("with a dedup secret: deletes when all content has been resealed", async () => {
    const env = { IDK_STORE: "deduplicated" };
    write("dedup secret", noise(32));
    const put = async (length: number) => {
      const stdin = noise(length);
      const args = ["put", "-", "--dedup-secret", "dedup secret", "--chunk-size", "256K"];
      return (await ok(args, { env, stdin })).stdout.trim();
    };
    const [short, long] = [await put(2 ** 20 + 100_000), await put(2 ** 20 + 600_000)];
    const before = lines((await ok(["ls"], { env })).stdout);
    const { stdout, stderr } = await ok(["rewrap", short, long, ...reseal, "--json"], { env });
    expect(stderr).toContain('{"note":"resealed 2 addresses; none failed"}\n');
    expect(await readable(stdout, env)).toEqual([2 ** 20 + 100_000, 2 ** 20 + 600_000]);
    const after = lines((await ok(["ls"], { env })).stdout);
    expect(after.filter((blob) => before.includes(blob))).toEqual([]);
  });

  test("of shared content: does the same", async () => {
    const { env, film } = await newStore();
    const shared = (await ok(["share", film, "-r", bob], { env })).stdout.trim();
    const { stdout } = await ok(["rewrap", film, shared, ...reseal, "--json"], { env });
    expect(await readable(stdout, env)).toEqual([2 ** 20 + 1, 2 ** 20 + 1]);
    const { stderr } = await ok(["ls", "-l", "--all", "-i", "bob.key"], { env });
    expect(stderr).toStartWith("2 contents, ");
    expect(stderr).toEndWith("; and 1 root for other recipients and 10 chunks\n");
  });

  test("deletes nothing if anything failed", async () => {
    const { env, note, film } = await newStore();
    const result = await idk(["rewrap", note, MISSING, film, ...reseal], { env });
    expect(result.stderr).toContain(
      "resealed 2 addresses; 1 failed\nidk: note: no old tree was deleted",
    );
    expect(result.stderr).toEndWith("idk: 1 of 3 addresses failed\n");
    expect(result.code).toBe(3);
    expect((await ok(["verify", "--complete"], { env })).stderr).toStartWith("checked 2 roots; ");
  });

  test("deletes nothing if the run ends early", async () => {
    const { env, note, blob } = await newStore();
    const refused = Array.from({ length: 16 }, (_, at) => at.toString(16).padStart(64, "0"));
    for (const address of refused) mkdirSync(blob(address), { recursive: true });
    const result = await idk(["rewrap", note, ...refused, ...reseal], { env });
    expect(result.stderr).toContain(
      "idk: resealed 1 address before it stopped; the others are left to do, and no old tree was deleted\n",
    );
    expect(result.code).toBe(6);
    expect(existsSync(blob(note))).toBe(true);
  });
});

describe("rm", () => {
  test("refuses the output of share and rewrap, and takes the list that these were given", async () => {
    const { env, note, film, blob } = await newStore();
    write("given", `${note}\n${film}\n`);
    for (const json of [[], ["--json"]]) {
      const { stdout } = await ok(["rewrap", "--from-file", "given", "-r", bob, ...json], { env });
      const before = (await ok(["ls"], { env })).stdout;
      for (const tree of [[], ["--tree"]]) {
        const refused = await idk(["rm", "--from-file", "-", ...tree], { env, stdin: stdout });
        expect(refused.stderr).toContain(
          "is the new address of content that was shared or rewrapped",
        );
        expect(refused.stderr).toEndWith("idk: 2 of 2 addresses failed\n");
        expect(refused.code).toBe(2);
      }
      expect((await ok(["ls"], { env })).stdout).toBe(before);
      await ok(["stat", "--from-file", "-", "-i", "bob.key"], { env, stdin: stdout });
    }
    await ok(["rm", "--from-file", "given"], { env });
    expect(existsSync(blob(note)) || existsSync(blob(film))).toBe(false);
  });

  test("prints JSON that lists leave out", async () => {
    const { env, note, film } = await newStore();
    const { stdout } = await ok(["rm", note, "--json"], { env });
    const tree = await ok(["rm", "--tree", film, "--json"], { env });
    const stat = await ok(["stat", "--from-file", "-"], { env, stdin: stdout + tree.stdout });
    expect(stat.stderr).toStartWith("idk: note: 2 lines of the list without an address skipped\n");
  });

  test("removes each, and counts what stays", async () => {
    const { env, note, film, blob } = await newStore();
    const result = await idk(["rm", note, MISSING, film], { env });
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain(`idk: the store has no blob ${MISSING}\n`);
    expect(result.stderr).toContain("removed 2 blobs; 1 failed\n");
    expect(result.stderr).toContain(
      "idk: note: 5 chunks of this root stay in the store, about 1.0 MiB.",
    );
    expect(result.stderr).toContain("`idk rm --tree`");
    expect(result.code).toBe(3);
    expect(existsSync(blob(note)) || existsSync(blob(film))).toBe(false);
    // The other way of the note: chunks by their addresses.
    const { stdout } = await ok(["ls", "-l", "--all", "--json"], { env });
    write("chunks", stdout);
    const rest = await ok(["rm", "--from-file", "chunks"], { env });
    expect(rest.stderr).toBe("removed 5 blobs; none failed\n");
    expect((await ok(["ls"], { env })).stdout).toBe("");
  });

  test("of one root notes what stays, and of content without chunks nothing", async () => {
    const { env, note, film } = await newStore();
    expect((await ok(["rm", note], { env })).stderr).toBe("");
    expect((await ok(["rm", film], { env })).stderr).toStartWith(
      "idk: note: 5 chunks of this root stay",
    );
    const again = await newStore();
    const json = await ok(["rm", again.film, "--json"], { env: again.env });
    expect(JSON.parse(json.stdout)).toEqual({
      address: again.film,
      blobs: 1,
      removed: true,
      chunksLeft: 5,
    });
    expect(json.stderr).toBe("");
  });

  test("without an identity that opens a root cannot tell, and asks for no passphrase", async () => {
    await ok(["keygen", "-o", "safe.key", "--passphrase"], {
      env: { IDK_PASSPHRASE: "x".repeat(12) },
    });
    for (const identity of ["", "bob.key", "safe.key", "missing.key"]) {
      const { env, film } = await newStore();
      const { stderr } = await ok(["rm", film], { env: { ...env, IDK_IDENTITY: identity } });
      expect(stderr).toStartWith(
        "idk: note: no identity opened 1 removed blob: if it was a root of more than 1 MiB, the chunks stay.",
      );
    }
  });

  test("--tree removes each tree", async () => {
    const { env, note, film } = await newStore();
    write("both", `${note}\n${film}\n`);
    const { stderr } = await ok(["rm", "--tree", "--from-file", "both"], { env });
    expect(stderr).toContain(`removed 6 blobs: ${film}\n`);
    expect(stderr).toEndWith("removed 2 trees; none failed\n");
    expect((await ok(["ls"], { env })).stdout).toBe("");
  });
});

test("identities are unlocked once", async () => {
  const { env, note, film } = await newStore();
  write("unlock.sh", "echo once >> unlocked; cat me.key");
  await ok(["stat", note, film, note.slice(0, 20)], {
    env: { ...env, IDK_IDENTITY: "", IDK_IDENTITY_COMMAND: "sh unlock.sh" },
  });
  expect(workspace.read("unlocked").toString()).toBe("once\n");
});

describe("lists", () => {
  test("take the output of every command, from a file and from standard input", async () => {
    const { env, note, film } = await newStore();
    write("a", "a");
    const both = [note, film].toSorted();
    const outputs: Record<string, string> = {};
    for (const [name, args] of Object.entries({
      ls: ["ls", "-l"],
      "ls json": ["ls", "-l", "--json"],
      "stat json": ["stat", note, film, "--json"],
      "verify json": ["verify", note, film, "--json"],
      "get json": ["get", note, film, "--output-dir", `out-${stores}`, "--json"],
    })) {
      outputs[name] = (await ok(args, { env })).stdout;
    }
    for (const [name, list] of Object.entries(outputs)) {
      const { stdout } = await ok(["stat", "--from-file", "-", "--json"], { env, stdin: list });
      expect([name, objects(stdout).map(({ address }) => address)]).toEqual([name, both]);
    }
    const copied = ["copy", "--from", env.IDK_STORE, "--to", `${env.IDK_STORE}-copy`];
    const copy = await ok([...copied, "--tree", "--from-file", "-"], {
      env,
      stdin: outputs["ls json"]!,
    });
    expect(copy.stderr).toStartWith("copied 7 blobs, ");
    const put = await ok(["put", "a", "--json"], { env });
    const files = await ok(["put", "a", "a", "--json"], { env });
    expect(put.stdout).not.toContain('"file"');
    const again = await ok(["put", "--from-file", "-"], { env, stdin: files.stdout });
    expect(again.stdout).toMatch(/^[0-9a-f]{64} {2}a\n[0-9a-f]{64} {2}a\n$/u);
  });

  test("skip JSON without an address, and what a command has skipped, and say so", async () => {
    const { env, note, film } = await newStore();
    const list = [
      { ok: false, file: "x", error: { code: "usage", message: "y" } },
      { skipped: true, address: film, reason: "other-key" },
      { ok: true, address: note },
    ];
    const stdin = list.map((line) => `${JSON.stringify(line)}\n`).join("");
    const { stderr, stdout } = await ok(["stat", "--from-file", "-"], { env, stdin });
    expect(stdout).toStartWith(`address     ${note}\n`);
    expect(stderr).toBe(
      "idk: note: 2 lines of the list without an address skipped\nopened 1 address; none failed\n",
    );
    write("folder list", '{"ok":true,"file":"note.txt","address":"' + note + '"}\n{"x":1}\n');
    write("note.txt", "text");
    const put = await ok(["put", "--from-file", "folder list"], { env });
    expect(put.stderr).toContain(
      "idk: skipped: folder list has 1 line of JSON without a file to store\n",
    );
    expect(put.stderr).toContain("stored 1 file, 4 bytes; 1 skipped; none failed\n");
  });

  test("a name in JSON that looks like an identity is no obstacle, a line of one is", async () => {
    const { env, note } = await newStore();
    const secret = workspace.read("me.key").toString().split("\n").at(-2)!;
    const stdin = `${JSON.stringify({ address: note, metadata: { name: secret } })}\n`;
    await ok(["stat", "--from-file", "-"], { env, stdin });
    expectFailure(
      await idk(["stat", "--from-file", "-"], { env, stdin: secret }),
      2,
      "standard input is not a list: it contains an identity",
    );
    const broken = await idk(["stat", "--from-file", "-"], { env, stdin: `{"name":"${secret}` });
    expect(broken.code).toBe(2);
    const verified = await idk(["verify", "--from-file", "-"], {
      env,
      stdin: `{"name":"${secret}`,
    });
    expect(verified.code).toBe(2);
    expect(verified.stdout).toStartWith(
      "… usage: the list has a line that looks like a secret key",
    );
  });

  test.each(["share", "rewrap", "rm", "stat", "verify"])(
    "%s needs an address or a list",
    async (command) => {
      const args = command === "share" ? ["-r", bob] : [];
      if (command !== "verify") {
        expectFailure(await idk([command, ...args]), 2, "name an ADDRESS, or a list of addresses");
      }
      const empty = await ok([command, ...args, "--from-file", "-"], {
        env: (await newStore()).env,
        stdin: "\n",
      });
      expect(empty.stdout).toBe("");
      expect(empty.stderr).toContain("; none failed");
    },
  );
});

test("rewrap says that a list was empty", async () => {
  const { env } = await newStore();
  const flags = ["--reseal", "--delete-old", "--yes", "--from-file", "-"];
  const { stderr } = await ok(["rewrap", "-r", bob, ...flags], { env, stdin: "\n" });
  expect(stderr).toContain("the list has no addresses: nothing was resealed or deleted");
  expect(stderr).not.toContain("keep only what they copied");
});

test("stat prints a block for each", async () => {
  const { env, note, film } = await newStore();
  const { stdout, stderr } = await ok(["stat", note, film.slice(0, 8)], { env });
  const blocks = stdout.split("\n\n");
  expect(blocks).toHaveLength(2);
  for (const block of blocks) expect(block).toMatch(/^address {5}[0-9a-f]{64}\n/u);
  expect(stderr).toBe("opened 2 addresses; none failed\n");
});

test("verify reports a bad entry, and checks the others", async () => {
  const { env, note } = await newStore();
  const { stdout, stderr, code } = await idk(["verify", note, MISSING.slice(0, 20)], { env });
  expect(stdout).toStartWith(
    `${MISSING.slice(0, 20)} not-found: the store has no blob whose address`,
  );
  expect(stderr).toContain("checked 2 blobs, ");
  expect(stderr).toEndWith("idk: 1 of 2 blobs failed\n");
  expect(code).toBe(3);
});
