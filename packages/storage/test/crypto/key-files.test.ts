import { describe, expect, test } from "bun:test";
import crypto from "node:crypto";
import { inspect } from "node:util";
import nacl from "tweetnacl";
import {
  isProtectedIdentityFile,
  protectIdentity,
  readIdentityFile,
  readRecipientsFile,
} from "../../src/crypto/key-files.ts";
import {
  type Identity,
  formatIdentity,
  identityFromSecretKey,
  secretKeyOf,
} from "../../src/crypto/keys.ts";
import { fails, rejects } from "../format/fails.ts";
import { hex, known, unhex } from "./known-answers.ts";

const { passphrase } = known.keyfile;
const good = unhex(known.keyfile.hex);
const identity = identityFromSecretKey(unhex(known.keyfile.secretKey));
const [first, second] = known.identities as [
  (typeof known.identities)[number],
  (typeof known.identities)[number],
];

const file = (...lines: readonly string[]) => Uint8Array.from(Buffer.from(lines.join("\n")));
const mustNotAsk = () => {
  throw new Error("asked for the passphrase");
};

describe("a protected identity file", () => {
  test("made by other programs can be read", async () => {
    const [read] = await readIdentityFile(good, passphrase);
    expect(hex(secretKeyOf(read!))).toBe(known.keyfile.secretKey);
  });

  test("has the layout of the format", async () => {
    const bytes = Buffer.from(await protectIdentity(identity, "päss", { logN: 14 }));
    expect(bytes).toHaveLength(102);
    expect(bytes.subarray(0, 6).toString("hex")).toBe("49444b4b010e");
    const options = { N: 2 ** 14, r: 8, p: 1, maxmem: 2 ** 26 };
    const P = crypto.scryptSync("päss", bytes.subarray(6, 22), 32, options);
    const kdf = (salt: Uint8Array, info: string) =>
      new Uint8Array(crypto.hkdfSync("sha256", P, salt, info, 32));
    const head = crypto.createHash("sha256").update(bytes.subarray(0, 22)).digest();
    const commitment = kdf(new Uint8Array(0), "idk/v1/keyfile/commit");
    expect(hex(bytes.subarray(22, 54))).toBe(hex(commitment));
    const boxKey = kdf(head, "idk/v1/keyfile/box");
    expect(nacl.secretbox.open(bytes.subarray(54), new Uint8Array(24), boxKey)).toEqual(
      secretKeyOf(identity),
    );
  });

  test("is read with its passphrase, and is different each time", async () => {
    const files = [0, 1].map(() => protectIdentity(identity, "correct horse", { logN: 14 }));
    const [one, other] = await Promise.all(files);
    expect(hex(one!.subarray(6, 22))).not.toBe(hex(other!.subarray(6, 22)));
    for (const bytes of [one!, other!]) {
      const read = await readIdentityFile(bytes, "correct horse");
      expect(read.map(formatIdentity)).toEqual([formatIdentity(identity)]);
    }
  });

  test("costs 128 MiB by default", async () => {
    const bytes = await protectIdentity(identity, passphrase);
    expect(bytes[5]).toBe(17);
    expect(await readIdentityFile(bytes, passphrase)).toHaveLength(1);
  });

  test.each(["Correct horse battery staple", `${passphrase}\n`, "", " "])(
    "does not open with %p",
    async (wrong) => {
      await rejects(readIdentityFile(good, wrong), "passphrase");
    },
  );

  test("asks for its passphrase once", async () => {
    let asked = 0;
    const ask = async () => {
      asked += 1;
      return passphrase;
    };
    expect(await readIdentityFile(good, ask)).toHaveLength(1);
    expect(asked).toBe(1);
    expect(await readIdentityFile(good, () => passphrase)).toHaveLength(1);
    await rejects(
      readIdentityFile(good, () => "wrong"),
      "passphrase",
    );
  });

  test("passes on the error of the passphrase callback", async () => {
    const declined = new Error("declined");
    const reading = readIdentityFile(good, () => Promise.reject(declined));
    expect(await reading.catch((error: unknown) => error)).toBe(declined);
  });

  test("without a passphrase is a usage error", async () => {
    await rejects(readIdentityFile(good), "usage", "passphrase");
  });

  test.each<[string, Uint8Array]>([
    ["101 bytes", good.subarray(0, 101)],
    ["103 bytes", Buffer.of(...good, 0)],
    ["4 bytes", good.subarray(0, 4)],
    ["version 0", good.with(4, 0)],
    ["version 2", good.with(4, 2)],
    ["logN 0", good.with(5, 0)],
    ["logN 13", good.with(5, 13)],
    ["logN 21", good.with(5, 21)],
    ["logN 255", good.with(5, 255)],
  ])("of %s is a key error before the passphrase is requested", async (_name, bytes) => {
    const start = performance.now();
    await rejects(readIdentityFile(bytes, mustNotAsk), "key");
    await rejects(readIdentityFile(bytes), "key");
    expect(performance.now() - start).toBeLessThan(1000);
  });

  test.each([
    ["logN", 5, "passphrase"],
    ["salt", 6, "passphrase"],
    ["commitment", 22, "passphrase"],
    ["commitment's end", 53, "passphrase"],
    ["tag", 54, "key"],
    ["box", 101, "key"],
  ] as const)("with a flipped bit in its %s does not open", async (_name, at, code) => {
    await rejects(readIdentityFile(good.with(at, good[at]! ^ 1), passphrase), code);
  });

  test("without its magic is read as a text file, and rejected", async () => {
    const bytes = good.with(0, 0x69);
    expect(isProtectedIdentityFile(bytes)).toBe(false);
    await rejects(readIdentityFile(bytes, mustNotAsk), "key");
  });

  test("is recognized by its first four bytes", () => {
    expect(isProtectedIdentityFile(good)).toBe(true);
    expect(isProtectedIdentityFile(good.subarray(0, 4))).toBe(true);
    expect(isProtectedIdentityFile(good.subarray(0, 3))).toBe(false);
    expect(isProtectedIdentityFile(new Uint8Array(0))).toBe(false);
    expect(isProtectedIdentityFile(file(first.identity))).toBe(false);
  });
});

describe("protecting rejects", () => {
  test.each([13, 21, 0, -1, 16.5, Number.NaN, "17"])("a logN of %p", async (logN) => {
    const options = { logN: logN as number };
    await rejects(protectIdentity(identity, passphrase, options), "usage", "logN");
  });

  test("an empty passphrase", async () => {
    await rejects(protectIdentity(identity, "", { logN: 14 }), "usage", "empty");
  });

  test.each([undefined, null, 1234, {}, () => "secret"])("%p for a passphrase", async (wrong) => {
    const protecting = protectIdentity(identity, wrong as string, { logN: 14 });
    await rejects(protecting, "usage", "passphrase");
  });

  test("a value that is not an identity", async () => {
    const copy = { ...identity } as Identity;
    await rejects(protectIdentity(copy, passphrase, { logN: 14 }), "usage", "identity");
  });
});

test("a passphrase callback that returns no text is a usage error", async () => {
  for (const answer of [undefined, null, 1234]) {
    await rejects(
      readIdentityFile(good, () => answer as unknown as string),
      "usage",
      "passphrase",
    );
  }
});

interface TextFile {
  readonly what: string;
  readonly lines: readonly [string, string];
  /** A line of the other kind, which errors must not repeat if it is secret. */
  readonly foreign: string;
  readonly read: (bytes: Uint8Array) => Promise<string[]>;
}

const textFiles: readonly TextFile[] = [
  {
    what: "identity",
    lines: [first.identity, second.identity],
    foreign: first.recipient,
    read: async (bytes) => (await readIdentityFile(bytes, mustNotAsk)).map(formatIdentity),
  },
  {
    what: "recipient",
    lines: [first.recipient, second.recipient],
    foreign: first.identity,
    read: async (bytes) => readRecipientsFile(bytes),
  },
];

describe.each(textFiles)(
  "a text file of one $what a line",
  ({ lines: [a, b], foreign, read, what }) => {
    test.each<[string, Uint8Array]>([
      ["plain", file(a, b)],
      ["with a newline at its end", file(a, b, "")],
      [
        "with comments and blank lines",
        file("# keys", "", a, "   ", "#", `# ${foreign}`, b, "", ""),
      ],
      ["with CRLF", file(`# keys\r`, `${a}\r`, "\r", `${b}\r`, "")],
      ["with white space around its lines", file(`  ${a}`, `\t${b} `, " # indented")],
      ["with a byte order mark", file(`\ufeff${a}`, b)],
      ["with letters of other scripts in comments", file("# schlüssel 🔑", a, b)],
    ])("%s is read in order", async (_name, bytes) => {
      expect(await read(bytes)).toEqual([a, b]);
    });

    test.each<[string, Uint8Array]>([
      ["nothing", file("")],
      ["comments alone", file("# nothing", "", "  ", "#")],
      ["zero bytes", new Uint8Array(5)],
      ["bytes that are no text", Uint8Array.of(0xff, 0xfe, 0x80)],
    ])("of %s is rejected", async (_name, bytes) => {
      await rejects(read(bytes), "key");
    });

    test.each([
      ["a letter wrong", `${a.slice(0, -1)}${a.endsWith("q") ? "p" : "Q"}`],
      ["a letter missing", a.slice(0, -1)],
      ["a comment behind it", `${a} # mine`],
      ["two keys", `${a} ${b}`],
      ["a key of the other kind", foreign],
    ])(
      "with %s in a line is refused by that line's number, without its text",
      async (_name, line) => {
        const error = await rejects(read(file("# keys", a, "", line, b)), "key", "line 4: ");
        const shown = inspect(error, { showHidden: true, depth: 9 }).replace(/^ +at .*$/gmu, "");
        for (const text of [a, b, line]) expect(shown).not.toContain(text.slice(20, 40));
      },
    );

    test("names what is missing", async () => {
      await rejects(read(file("# empty")), "key", `no ${what}`);
    });
  },
);

test("a protected identity file is rejected as a recipients file", () => {
  fails(() => readRecipientsFile(good), "key", "line 1");
});
