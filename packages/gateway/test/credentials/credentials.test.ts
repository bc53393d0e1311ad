import { describe, expect, test } from "bun:test";
import { CredentialsError, parseCredentials } from "../../src/credentials/credentials.ts";
import {
  allowsBucket,
  allowsObject,
  allowsWholeBucket,
} from "../../src/credentials/permissions.ts";

const SECRET = "correct-horse-battery";

function faultOf(text: string): string {
  try {
    parseCredentials(text);
  } catch (error) {
    if (error instanceof CredentialsError) return error.message;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("a credentials file", () => {
  test("gives keys with all rights unless it says otherwise", () => {
    const { keys, metricsToken } = parseCredentials(`
      metrics-token = "${SECRET}"
      [keys.ADMIN]
      secret = "${SECRET}"
      [keys."team/reader"]
      secret = "${SECRET}-2"
      buckets = ["team-*"]
      prefixes = ["2026/", "é/"]
      rights = ["read"]
    `);
    expect(metricsToken).toBe(SECRET);
    expect([...keys.values()]).toEqual([
      {
        id: "ADMIN",
        secret: SECRET,
        buckets: ["*"],
        prefixes: [],
        rights: ["read", "write", "list"],
      },
      {
        id: "team/reader",
        secret: `${SECRET}-2`,
        buckets: ["team-*"],
        prefixes: ["2026/", "é/"],
        rights: ["read"],
      },
    ]);
  });

  test.each([
    ["", "there is no key: add a table [keys.NAME] with a secret"],
    ["[keys]", "there is no key: add a table [keys.NAME] with a secret"],
    ["[keys.A1]\nsecret = 'longenough'", "the name of a key must have 3 to 128 letters"],
    ["[keys.ABC]", "secret of keys.ABC must be a string of at least 8 characters"],
    ["[keys.ABC]\nsecret = 'short'", "secret of keys.ABC must be"],
    ["[keys.ABC]\nsecret = 'longenough'\nrights = ['reed']", "rights of keys.ABC must be of"],
    ["[keys.ABC]\nsecret = 'longenough'\nbuckets = []", "buckets of keys.ABC must be a list"],
    ["[keys.ABC]\nsecret = 'longenough'\nprefixes = 'a'", "prefixes of keys.ABC must be a list"],
    ["[keys.ABC]\nsecret = 'longenough'\nbucket = ['a']", "keys.ABC has a setting that does not"],
    ["[keys.ABC]\nsecret = 'longenough\n", "line 2, column"],
    [
      "[keys.ABC]\nsecret = 'longenough'\nrights = ['read', 'read']",
      "rights of keys.ABC must be of",
    ],
    [
      "[keys.ABC]\nsecret = 'longenough'\nbuckets = ['Photos']",
      "buckets of keys.ABC must be names",
    ],
    ["[keys.ABC]\nsecret = 'longenough'\nenabled = 'no'", "enabled of keys.ABC must be true or"],
    [
      "[keys.ABC]\nsecret = 'longenough'\n[keys.DEF]\nsecret = 'longenough'",
      "keys.ABC and keys.DEF have the same secret",
    ],
  ])("is refused: %j", (text, message) => {
    expect(faultOf(text)).toStartWith(message);
  });

  test("may disable a key", () => {
    const { keys } = parseCredentials(
      "[keys.ABC]\nsecret = 'longenough'\nenabled = false\n[keys.DEF]\nsecret = 'longenough2'\n",
    );
    expect([...keys.keys()]).toEqual(["DEF"]);
  });

  test("never has its secrets in messages", () => {
    const texts = [
      `[keys.ABC]\nsecret = "${SECRET}\nbuckets = []`,
      `[keys.ABC]\nsecret = "${SECRET}" "${SECRET}"`,
      `[keys.ABC]\n"${SECRET}" = 1\nsecret = "${SECRET}"`,
      `[keys."${SECRET} ${SECRET}"]\nsecret = "x"`,
      `"${SECRET}" = 1\n[keys.ABC]\nsecret = "${SECRET}"`,
      `[keys.ABC]\nsecret = "${SECRET}"\n[keys.DEF]\nsecret = "${SECRET}"`,
    ];
    for (const text of texts) expect(faultOf(text)).not.toContain(SECRET);
  });
});

describe("rights", () => {
  const key = {
    id: "ABC",
    secret: SECRET,
    buckets: ["photos", "team-*-x"],
    prefixes: ["a/", "é"],
    rights: ["read", "write"],
  } as const;
  const bytes = (text: string) => Buffer.from(text);

  test("are those for matching buckets", () => {
    const names = ["photos", "photos2", "team-a-x", "team--x", "team-x", "team-a-xy", "xteam-a-x"];
    expect(names.filter((name) => allowsBucket(key, name))).toEqual([
      "photos",
      "team-a-x",
      "team--x",
    ]);
    expect(allowsBucket({ ...key, buckets: ["a*b*c"] }, "a1b2b3c")).toBe(true);
    expect(allowsBucket({ ...key, buckets: ["a*b*c"] }, "a1c2b")).toBe(false);
    expect(allowsBucket({ ...key, buckets: ["*"] }, "any")).toBe(true);
  });

  test("are those for keys with a prefix, compared as bytes", () => {
    expect(allowsObject(key, "read", "photos", bytes("a/b"))).toBe(true);
    expect(allowsObject(key, "read", "photos", bytes("éclair"))).toBe(true);
    // Normalised, it would be the same.
    expect(allowsObject(key, "read", "photos", bytes("e\u0301clair"))).toBe(false);
    expect(allowsObject(key, "read", "photos", bytes("a"))).toBe(false);
    expect(allowsObject(key, "read", "other", bytes("a/b"))).toBe(false);
    expect(allowsObject(key, "list", "photos", bytes("a/b"))).toBe(false);
  });

  test("are for a whole bucket only without prefixes", () => {
    expect(allowsWholeBucket(key, "write", "photos")).toBe(false);
    expect(allowsWholeBucket({ ...key, prefixes: [] }, "write", "photos")).toBe(true);
    expect(allowsWholeBucket({ ...key, prefixes: [] }, "list", "photos")).toBe(false);
  });
});
