import { describe, expect, test } from "bun:test";
import { inspect } from "node:util";
import { bech32, bech32m } from "@scure/base";
import fc from "fast-check";
import nacl from "tweetnacl";
import {
  type Identity,
  formatIdentity,
  generateIdentity,
  identityFromSecretKey,
  keyPairOf,
  parseIdentity,
  parseRecipient,
  publicKeyOf,
  recipientFromPublicKey,
  secretKeyOf,
} from "../../src/crypto/keys.ts";
import { fails } from "../format/fails.ts";
import { hex, known, unhex } from "./known-answers.ts";
import { lowOrderPoints, notCanonical } from "./low-order.ts";

const [first, second] = known.identities as [
  (typeof known.identities)[number],
  (typeof known.identities)[number],
];
const secretKeys = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("known keys", () => {
  test.each(known.identities)("$recipient", ({ secretKey, identity, recipient, publicKey }) => {
    const read = parseIdentity(identity);
    expect(hex(secretKeyOf(read))).toBe(secretKey);
    expect(read.recipient as string).toBe(recipient);
    expect(formatIdentity(identityFromSecretKey(unhex(secretKey)))).toBe(identity);
    expect(hex(publicKeyOf(recipient))).toBe(publicKey);
    expect(recipientFromPublicKey(unhex(publicKey)) as string).toBe(recipient);
    expect(hex(keyPairOf(read).publicKey)).toBe(publicKey);
  });
});

describe("text and back", () => {
  test("gives the same key", () => {
    fc.assert(
      fc.property(secretKeys, (secretKey) => {
        const identity = identityFromSecretKey(secretKey);
        const text = formatIdentity(identity);
        expect(text).toMatch(/^IDK-SECRET-KEY-1[0-9A-Z]{58}$/u);
        expect(secretKeyOf(parseIdentity(text))).toEqual(secretKey);
        expect(identity.recipient).toMatch(/^idk1[0-9a-z]{58}$/u);
        expect(parseIdentity(text).recipient).toBe(identity.recipient);
        const { publicKey } = nacl.box.keyPair.fromSecretKey(secretKey);
        expect(publicKeyOf(identity.recipient)).toEqual(publicKey);
      }),
      { numRuns: 50 },
    );
  });

  test("accepts all upper or all lower case, and writes its own", () => {
    expect(formatIdentity(parseIdentity(first.identity.toLowerCase()))).toBe(first.identity);
    expect(parseRecipient(first.recipient.toUpperCase()) as string).toBe(first.recipient);
    expect(hex(publicKeyOf(first.recipient.toUpperCase()))).toBe(first.publicKey);
  });
});

/** Texts with one fault each, derived from a valid text and its key of 32 bytes. */
function faults(good: string, key: Uint8Array): Record<string, string> {
  const lower = good.toLowerCase();
  const prefix = lower.slice(0, lower.lastIndexOf("1"));
  const words = bech32.toWords(key);
  const last = words.at(-1)!;
  const isUpper = good !== lower;
  const at = good.length - 20;
  const other = good[at]!.toLowerCase() === "q" ? "p" : "q";
  const swapCase = (letter: string) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
  const letterAt = good.slice(prefix.length + 1).search(/[a-z]/iu) + prefix.length + 1;
  const written: Record<string, string> = {
    "of 31 bytes": bech32.encode(prefix, bech32.toWords(key.subarray(1)), false),
    "of 33 bytes": bech32.encode(prefix, bech32.toWords(Buffer.of(...key, 0)), false),
    "of no bytes": bech32.encode(prefix, [], false),
    "with left-over bits": bech32.encode(prefix, [...words.slice(0, -1), last | 1], false),
    "with a group more": bech32.encode(prefix, [...words, 0], false),
    "with the checksum of Bech32m": bech32m.encode(prefix, words, false),
    "with another prefix": bech32.encode("age", words, false),
    "with a longer prefix": bech32.encode(`${prefix}x`, words, false),
    "with a changed letter": lower.slice(0, at) + other + lower.slice(at + 1),
    "cut short": lower.slice(0, -1),
    "with a letter more": `${lower}q`,
    "with a space before": ` ${lower}`,
    "with a newline after": `${lower}\n`,
    "without its separator": lower.replace("1", ""),
  };
  return {
    ...Object.fromEntries(
      Object.entries(written).map(([name, text]) => [name, isUpper ? text.toUpperCase() : text]),
    ),
    "in mixed case": good.slice(0, letterAt) + swapCase(good[letterAt]!) + good.slice(letterAt + 1),
    "with its prefix in another case": swapCase(good[0]!) + good.slice(1),
    "with the Kelvin sign for a k": good.replace(/k/iu, "\u212a"),
    "of no text": "",
  };
}

describe("key is the code of an identity", () => {
  const { identity, recipient, secretKey } = first;

  test.each(Object.entries(faults(identity, unhex(secretKey))))("%s", (_name, text) => {
    const error = fails(() => parseIdentity(text), "key", "IDK-SECRET-KEY-1");
    expect(textOf(error)).not.toContain(secretPart(identity).slice(0, 20));
  });

  test("that is a recipient", () => {
    fails(() => parseIdentity(recipient), "key", "another kind of key");
  });

  test("with any single character wrong, which no message repeats", () => {
    for (let at = 0; at < identity.length; at++) {
      const text =
        identity.slice(0, at) + (identity[at] === "Z" ? "X" : "Z") + identity.slice(at + 1);
      const message = textOf(fails(() => parseIdentity(text), "key"));
      for (let i = 0; i + 8 <= text.length - 16; i++) {
        expect(message).not.toContain(text.slice(16).slice(i, i + 8));
      }
    }
  });

  test("for any other text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (text) => {
        fails(() => parseIdentity(text), "key");
        fails(() => parseRecipient(text), "key");
      }),
    );
  });
});

describe("key is the code of a recipient", () => {
  const { recipient, identity, publicKey } = first;

  test.each(Object.entries(faults(recipient, unhex(publicKey))))("%s", (_name, text) => {
    fails(() => parseRecipient(text), "key");
    fails(() => publicKeyOf(text), "key");
  });

  test("that is an identity, which no message repeats", () => {
    const error = fails(() => parseRecipient(identity), "key", "another kind of key");
    expect(textOf(error)).not.toContain(secretPart(identity).slice(0, 8));
  });

  test.each(Object.entries({ ...lowOrderPoints, ...notCanonical }))(
    "of the point %s",
    (_n, point) => {
      const text = bech32.encode("idk", bech32.toWords(point), false);
      for (const read of [parseRecipient, publicKeyOf])
        fails(() => read(text), "key", "public key");
      fails(() => recipientFromPublicKey(point), "key", "public key");
    },
  );
});

describe("the fault of a key is named", () => {
  const { recipient, identity } = first;
  const changed = (text: string, at: number, char: string): string =>
    text.slice(0, at) + char + text.slice(at + 1);

  test.each([
    ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "an age recipient"],
    ["age1yubikey1qwertyuiopasdfghjklzxcvbnm", "an age recipient"],
    ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsKLqeplhpW+uObz5dvMgjz1OxfM me@host", "an SSH key"],
    ["ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7", "an SSH key"],
    ["ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTY", "an SSH key"],
    ["sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t", "an SSH key"],
    ["SHA256:uNiVztksCsDhcc0u9e8BrrTXgrBtmGcM", "the fingerprint of an SSH key"],
    ["-----BEGIN PGP PUBLIC KEY BLOCK-----", "a PGP key"],
    ["0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567", "the fingerprint of a PGP key"],
    ["0123456789abcdef0123456789abcdef01234567", "the fingerprint of a PGP key"],
    ["github:alice", "a GitHub name"],
    ["https://github.com/alice.keys", "a GitHub name"],
    ["alice@example.com", "an e-mail address"],
  ])("%s", (text, kind) => {
    const { message } = fails(() => parseRecipient(text), "key");
    expect(message).toStartWith(`this is not a recipient (idk1…) but ${kind}`);
    expect(message).toEndWith(
      ", which idk cannot encrypt to; ask its owner for one that begins with idk1",
    );
  });

  test.each([
    ["AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQ", "an age identity"],
    ["-----BEGIN OPENSSH PRIVATE KEY-----", "a key in PEM, such as an SSH key"],
  ])("in place of an identity, %s", (text, kind) => {
    const { message } = fails(() => parseIdentity(text), "key");
    expect(message).toBe(
      `this is not an identity (IDK-SECRET-KEY-1…) but ${kind}, which idk cannot use`,
    );
  });

  test.each(Array.from(recipient.slice(4), (_, index) => index + 4))(
    "one wrong character at index %d",
    (at) => {
      const text = changed(recipient, at, recipient[at] === "q" ? "p" : "q");
      const message = `its checksum does not match; check character ${at + 1}`;
      expect(fails(() => parseRecipient(text), "key").message).toEndWith(message);
    },
  );

  test("two swapped characters, in an identity", () => {
    let at = 30;
    while (identity[at] === identity[at + 1]) at += 1;
    const swapped = changed(changed(identity, at, identity[at + 1]!), at + 1, identity[at]!);
    const message = `its checksum does not match; check character ${at + 1}`;
    expect(fails(() => parseIdentity(swapped), "key").message).toEndWith(message);
  });

  test("more wrong characters than can be located, and other typing errors", () => {
    const several = recipient.slice(0, 8) + recipient.slice(10, 12) + recipient.slice(8, 10);
    const faulty: Record<string, string> = {
      [several + recipient.slice(12)]: "its checksum does not match; copy it again",
      [recipient.slice(0, -2)]: "it has 60 characters instead of 62; copy it again",
      [changed(recipient, 20, "b")]: "character 21 is wrong; 1, b, i and o never occur",
      [changed(recipient, 20, "O")]: "it mixes upper and lower case",
      "me.key": "it does not begin with idk1",
    };
    for (const [text, message] of Object.entries(faulty)) {
      expect(fails(() => parseRecipient(text), "key").message).toBe(
        `this is not a recipient (idk1…): ${message}`,
      );
    }
  });
});

describe("usage is the code of", () => {
  test.each([[undefined], [null], [1], [true], [{}], [["idk1"]], [new Uint8Array(32)]])(
    "%p for a text",
    (value) => {
      for (const read of [parseIdentity, parseRecipient, publicKeyOf]) {
        fails(() => read(value as string), "usage", "must be text");
      }
    },
  );

  test.each([[undefined], [null], ["a".repeat(32)], [Array(32).fill(0)], [new Uint16Array(32)]])(
    "%p for raw bytes",
    (value) => {
      for (const take of [identityFromSecretKey, recipientFromPublicKey]) {
        fails(
          () => take(value as unknown as Uint8Array),
          "usage",
          "must be a Uint8Array of 32 bytes",
        );
      }
    },
  );

  test.each([0, 31, 33, 64])("%d raw bytes", (length) => {
    for (const take of [identityFromSecretKey, recipientFromPublicKey]) {
      fails(() => take(new Uint8Array(length)), "usage", `got ${length}`);
    }
  });

  test.each([undefined, null, "x", {}, { recipient: second.recipient }])(
    "%p for an identity",
    (value) => {
      for (const take of [formatIdentity, secretKeyOf, keyPairOf]) {
        fails(() => take(value as Identity), "usage", "an identity comes from");
      }
    },
  );
});

describe("an identity's object", () => {
  test("is new for every call", async () => {
    const identities = await Promise.all(Array.from({ length: 20 }, generateIdentity));
    expect(new Set(identities.map((identity) => identity.recipient)).size).toBe(20);
  });

  test("exposes its recipient, and never the secret", async () => {
    const identity = await generateIdentity();
    const secretKey = secretKeyOf(identity);
    const looks = [
      JSON.stringify(identity),
      asText(identity),
      inspect(identity, { showHidden: true, depth: 9, getters: true }),
      Bun.inspect(identity, { depth: 9 }),
      inspect(structuredClone(identity), { showHidden: true }),
      inspect({ ...identity }, { showHidden: true }),
      Reflect.ownKeys(identity).map(String).join(),
    ].join("\n");
    expect(looks).toContain(identity.recipient);
    for (const shape of [
      secretPart(formatIdentity(identity)),
      hex(secretKey),
      Buffer.from(secretKey).toString("base64"),
      Array.from(secretKey).join(),
      Array.from(secretKey).join(", "),
    ]) {
      expect(looks.toLowerCase()).not.toContain(shape.toLowerCase());
    }
    expect(Object.getOwnPropertyNames(identity)).toEqual(["recipient"]);
    expect(Object.getOwnPropertySymbols(identity)).toEqual([]);
    expect(Object.getPrototypeOf(identity)).toBe(Object.prototype);
  });

  test("is immutable, and a copy of it is not an identity", async () => {
    const identity = await generateIdentity();
    expect(Object.isFrozen(identity)).toBe(true);
    for (const copy of [structuredClone(identity), { ...identity }]) {
      fails(() => secretKeyOf(copy), "usage");
    }
  });

  test("keeps its own copy of the secret key, and returns copies", () => {
    const secretKey = unhex(first.secretKey);
    const identity = identityFromSecretKey(secretKey);
    secretKey.fill(0);
    secretKeyOf(identity).fill(0);
    expect(formatIdentity(identity)).toBe(first.identity);
  });

  test("accepts a Buffer, and a view of a larger one", () => {
    const larger = Buffer.concat([Buffer.alloc(7), unhex(first.secretKey), Buffer.alloc(7)]);
    const identity = identityFromSecretKey(larger.subarray(7, 39));
    larger.fill(0);
    expect(formatIdentity(identity)).toBe(first.identity);
  });
});

/** What string concatenation and template literals print. */
const asText: (value: unknown) => string = String;

/** What differs from one identity to the next. */
function secretPart(identity: string): string {
  return identity.slice("IDK-SECRET-KEY-1".length);
}

/** Everything that an error reveals, including its causes. */
function textOf(error: unknown): string {
  return inspect(error, { showHidden: true, depth: 9 }).replace(/^ +at .*$/gmu, "");
}
