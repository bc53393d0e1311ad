import { nearest } from "./nearest.ts";

/** A store's URL in its parts, decoded: `scheme://authority/path?query`. */
export interface StoreUrl {
  readonly scheme: string;
  readonly authority: string;
  /** The parts of the path, none of them empty. */
  readonly path: readonly string[];
  readonly query: ReadonlyMap<string, string>;
}

/** Which part of a URL stands for what, for messages; and what its query may say. */
export interface UrlRules {
  /** How such a URL looks. */
  readonly form: string;
  /** Where its credentials come from. */
  readonly credentials: string;
  readonly query: readonly string[];
}

const PARTS = /^([a-z][a-z0-9+.-]+):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?$/iu;

/** What people call the credentials that they try to put into a URL. */
const CREDENTIAL = /key|secret|token|passw|credential|user|login|signature/iu;

/** Only what looks like a parameter is repeated: who knows what was pasted there. */
const PARAMETER = /^[a-z-]{1,24}$/u;

/**
 * Splits a URL by rules of our own, for those of the web take any text for the authority of a
 * scheme they do not know. No message repeats more than a parameter's name.
 */
export function splitStoreUrl(text: string, rules: UrlRules): StoreUrl {
  const parts = PARTS.exec(text);
  if (parts === null) throw new Error(`must have the form ${rules.form}`);
  const [, scheme = "", authority = "", path = "", query = ""] = parts;
  if (authority.includes("@")) throw credentialsRefused(rules);
  return {
    scheme: scheme.toLowerCase(),
    authority: decode(authority),
    path: path
      .split("/")
      .map(decode)
      .filter((part) => part !== ""),
    query: parseQuery(query, rules),
  };
}

/** The name of a bucket and the prefix behind it. */
export function bucketAndPrefix(parts: readonly string[]): {
  readonly bucket: string;
  readonly prefix: string | undefined;
} {
  const [bucket = "", ...prefix] = parts;
  return { bucket, prefix: prefix.length > 0 ? prefix.join("/") : undefined };
}

function parseQuery(text: string, rules: UrlRules): ReadonlyMap<string, string> {
  const query = new Map<string, string>();
  for (const item of text.split("&").filter((item) => item !== "")) {
    const at = item.indexOf("=");
    const name = decode(at === -1 ? item : item.slice(0, at));
    const value = at === -1 ? "" : decode(item.slice(at + 1));
    if (!rules.query.includes(name)) throw unknownParameter(name, rules);
    if (value === "") throw new Error(`gives the parameter ${name} no value`);
    if (query.has(name)) throw new Error(`gives the parameter ${name} twice`);
    query.set(name, value);
  }
  return query;
}

function unknownParameter(name: string, rules: UrlRules): Error {
  const guess = nearest(name, rules.query);
  if (guess === undefined && CREDENTIAL.test(name)) return credentialsRefused(rules);
  const shown = PARAMETER.test(name) ? ` "${name}"` : "";
  const hint = guess === undefined ? "" : ` (did you mean ${guess}?)`;
  return new Error(
    `has an unknown parameter${shown}${hint}; parameters are ${rules.query.join(", ")}`,
  );
}

function credentialsRefused({ credentials }: UrlRules): Error {
  return new Error(
    `takes no credentials in the URL, where others on this machine see them: ${credentials}`,
  );
}

function decode(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    throw new Error("holds a % that no two hexadecimal digits follow");
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/u.test(decoded)) throw new Error("holds a control character");
  return decoded;
}
