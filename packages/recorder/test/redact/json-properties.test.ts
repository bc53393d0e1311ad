import { expect, test } from "bun:test";
import fc from "fast-check";
import type { RedactRule } from "../../src/redact/contract.ts";
import { normalizedName } from "../../src/redact/rules/names.ts";
import { NO_DEFAULTS, redactedBeginning, redactedBody, redactedJson } from "./support.ts";

/*
 * Compares the scanner with a slow one that builds a tree of the whole text, redacts the tree, and
 * compares trees: numbers as texts, members as lists, so that duplicates and their order count.
 */

type Tree =
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "array"; readonly items: readonly Tree[] }
  | {
      readonly kind: "object";
      readonly members: readonly (readonly [name: string, value: Tree])[];
    };

/** A recursive reader of JSON that is known to be valid. */
function parse(json: string): Tree {
  let at = 0;
  const space = (): void => {
    while (" \t\r\n".includes(json[at] ?? "x")) at += 1;
  };
  const token = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(json)!;
    at += found.length;
    return found;
  };
  const listed = <T>(close: string, one: () => T): T[] => {
    const all: T[] = [];
    at += 1;
    for (space(); json[at] !== close; space()) {
      if (json[at] === ",") at += 1;
      space();
      all.push(one());
    }
    at += 1;
    return all;
  };
  const string = (): string => JSON.parse(token(/"(?:[^"\\]|\\.)*"/suy)) as string;
  const value = (): Tree => {
    space();
    if (json[at] === '"') return { kind: "string", text: string() };
    if (json[at] === "[") return { kind: "array", items: listed("]", value) };
    if (json[at] !== "{") return { kind: "word", text: token(/[\w.+-]+/uy) };
    return {
      kind: "object",
      members: listed("}", () => {
        const name = string();
        space();
        at += 1;
        return [name, value()] as const;
      }),
    };
  };
  return value();
}

type Path = readonly string[];

/** Whether a path matches, by trying all ways. */
function matches(pattern: Path, path: Path): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return path.length === 0;
  if (first === "**") return path.some((_, n) => matches(rest, path.slice(n))) || matches(rest, []);
  if (path.length === 0) return false;
  return (first === "*" || first === path[0]) && matches(rest, path.slice(1));
}

function ruleFor(
  rules: readonly RedactRule[],
  path: Path,
  isMember: boolean,
): RedactRule | undefined {
  return rules.find(({ name, path: pattern }) =>
    name === undefined
      ? matches(pattern!.split("."), path)
      : isMember && path.at(-1) === normalizedName(name),
  );
}

/** @returns undefined if it is dropped */
function redacted(
  tree: Tree,
  rules: readonly RedactRule[],
  path: Path,
  isMember: boolean,
): Tree | undefined {
  const rule = ruleFor(rules, path, isMember);
  if (rule?.action === "drop") return undefined;
  if (rule?.action === "mask") return { kind: "string", text: "***" };
  if (rule?.action === "truncate") {
    if (tree.kind !== "string" && tree.kind !== "word") return { kind: "string", text: "***" };
    const characters = Array.from(tree.text);
    if (characters.length <= rule.length!) return tree;
    return { kind: "string", text: `${characters.slice(0, rule.length).join("")}…` };
  }
  if (tree.kind === "array") {
    const items = tree.items.flatMap(
      (item, index) => redacted(item, rules, [...path, String(index)], false) ?? [],
    );
    return { kind: "array", items };
  }
  if (tree.kind === "object") {
    const members = tree.members.flatMap(([name, value]) => {
      const by = redacted(value, rules, [...path, normalizedName(name)], true);
      return by === undefined ? [] : [[name, by] as const];
    });
    return { kind: "object", members };
  }
  return tree;
}

const names = fc.constantFrom("a", "b", "A_b", "c", "__proto__", "0", "1", "é", "", "-");

/** A string, with some of its characters escaped. */
const escaped = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((flags) =>
      Array.from({ length: text.length }, (_, at) => {
        const plain = JSON.stringify(text[at]).slice(1, -1);
        const code = text.charCodeAt(at).toString(16).padStart(4, "0");
        return flags[at] ? `\\u${code}` : plain;
      }).join(""),
    )
    .map((inner) => `"${inner}"`);

/** Without parameters and beginnings of JSON, which are redacted in text, too. */
const text = fc.string().map((any) => any.replaceAll("=", "-").replace(/^\s*["{[]/u, "-"));

const space = fc.constantFrom("", "", "", " ", "\n\t");
const joined = (parts: readonly string[], spaces: readonly string[]): string =>
  parts.map((part, index) => `${spaces[index % spaces.length] ?? ""}${part}`).join(",");

/** JSON texts. */
const { json: documents } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constantFrom("0", "-1.50", "1e5", "true", "false", "null", "12345678901234567890"),
    fc.oneof(fc.constantFrom("", "x", "long text", "é😀", 'q"\\/'), text).chain(escaped),
    fc
      .tuple(fc.array(tie("json"), { maxLength: 4 }), fc.array(space, { minLength: 1 }), space)
      .map(([items, spaces, end]) => `[${joined(items, spaces)}${end}]`),
    fc
      .tuple(
        fc.array(fc.tuple(names.chain(escaped), space, tie("json")), { maxLength: 5 }),
        fc.array(space, { minLength: 1 }),
        space,
      )
      .map(([members, spaces, end]) => {
        const parts = members.map(([name, gap, value]) => `${name}${gap}:${gap}${value}`);
        return `{${joined(parts, spaces)}${end}}`;
      }),
  ),
}));

const actions = fc.constantFrom(
  { action: "mask" } as const,
  { action: "drop" } as const,
  { action: "truncate", length: 2 } as const,
);
const levels = fc.constantFrom("a", "b", "ab", "c", "proto", "0", "1", "*", "**", "é");
const covers = fc.oneof(
  fc.constantFrom("a", "b", "a-b", "proto", "é").map((name) => ({ name })),
  fc.array(levels, { minLength: 1, maxLength: 4 }).map((path) => ({ path: path.join(".") })),
);
const rules: fc.Arbitrary<RedactRule[]> = fc.array(
  fc.tuple(covers, actions).map(([what, how]): RedactRule => Object.assign({}, what, how)),
  { maxLength: 4 },
);

test("the scanner redacts what the slow one does", () => {
  fc.assert(
    fc.property(documents, rules, (json, given) => {
      const expected = redacted(parse(json), given, [], false);
      const body = redactedBody(json, "application/json", given, {}, { defaults: NO_DEFAULTS });
      if (expected === undefined) expect(body.why).toBe("rule");
      else {
        JSON.parse(body.text!);
        expect(parse(body.text!)).toEqual(expected);
      }
    }),
    { numRuns: 5000 },
  );
});

test("the scanner changes nothing that no rule covers", () => {
  fc.assert(
    fc.property(documents, (json) => {
      expect(redactedJson(json, [], { defaults: NO_DEFAULTS })).toBe(json);
    }),
    { numRuns: 2000 },
  );
});

test("the scanner accepts what JSON.parse accepts, and nothing else", () => {
  const changed = fc
    .tuple(
      documents,
      fc.nat(),
      fc.constantFrom("", ",", "}", "]", '"', "\\", "{", ":", "0", " ", "-"),
    )
    .map(([json, at, by]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + by + json.slice(by === "" ? place + 1 : place);
    });
  fc.assert(
    fc.property(changed, (text) => {
      if (text === "") return;
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      const { why } = redactedBody(text, "application/json", [], {}, { defaults: NO_DEFAULTS });
      expect([text, why]).toEqual([text, isJson ? undefined : "broken"]);
    }),
    { numRuns: 5000 },
  );
});

test("a secret member is nowhere in what a cut left", () => {
  const secret = "µ3cr3tµ3cr3t";
  const withSecret = documents.map((json) => `{"a":[${json}],"b":{"Pass-Word":"${secret}"},"c":1}`);
  fc.assert(
    fc.property(withSecret, fc.nat(), (json, at) => {
      const bytes = Buffer.from(json);
      const { text, why } = redactedBody(
        bytes.subarray(0, 1 + (at % bytes.length)),
        "application/json",
        [],
        { cut: true },
      );
      expect(why).toBeUndefined();
      expect(text).not.toContain(secret.slice(0, 3));
    }),
    { numRuns: 2000 },
  );
  expect(redactedBeginning(`{"password":"${secret}`).text).toBe('{"password":"***"');
});
