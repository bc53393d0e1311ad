import { usage } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** Environment variables by name; those of the providers complete a URL. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A store's URL, split and percent-decoded: `scheme://authority/path?query`. */
export interface SplitUrl {
  readonly authority: string;
  /** The segments of the path, without the empty ones. */
  readonly path: readonly string[];
  readonly query: ReadonlyMap<string, string>;
}

/** What a scheme allows, and the words its error messages need. */
export interface UrlRules {
  /** The URL's form. */
  readonly form: string;
  /** How to provide credentials. */
  readonly credentials: string;
  /** The known query parameters. */
  readonly query: readonly string[];
}

const PARTS = /^[a-z][a-z0-9+.-]+:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?$/iu;

/** Parameter names people use when they try to put credentials into a URL. */
const CREDENTIAL = /key|secret|token|passw|credential|user|login|signature/iu;

/** A name of this form is safe to repeat in a message; anything else may be a pasted secret. */
const PARAMETER = /^[a-z-]{1,24}$/u;

/**
 * Splits a URL by our own rules, because WHATWG URLs accept any text as the authority of an unknown
 * scheme. Messages repeat at most the name of a parameter.
 */
export function splitUrl(text: string, rules: UrlRules): SplitUrl {
  const parts = PARTS.exec(text);
  if (parts === null) throw usage(`must have the form ${rules.form}`);
  const [, authority = "", path = "", query = ""] = parts;
  if (authority.includes("@")) throw credentialsRefused(rules);
  return {
    authority: decode(authority),
    path: path
      .split("/")
      .map(decode)
      .filter((part) => part !== ""),
    query: parseQuery(query, rules),
  };
}

function parseQuery(text: string, rules: UrlRules): ReadonlyMap<string, string> {
  const query = new Map<string, string>();
  for (const item of text.split("&").filter((item) => item !== "")) {
    const at = item.indexOf("=");
    const name = decode(at === -1 ? item : item.slice(0, at));
    const value = at === -1 ? "" : decode(item.slice(at + 1));
    if (!rules.query.includes(name)) throw unknownParameter(name, rules);
    if (value === "") throw usage(`gives the parameter ${name} no value`);
    if (query.has(name)) throw usage(`gives the parameter ${name} twice`);
    query.set(name, value);
  }
  return query;
}

function unknownParameter(name: string, rules: UrlRules): Error {
  const guess = nearest(name, rules.query);
  if (guess === undefined && CREDENTIAL.test(name)) return credentialsRefused(rules);
  const quoted = PARAMETER.test(name) ? ` "${name}"` : "";
  const hint = guess === undefined ? "" : ` (did you mean ${guess}?)`;
  return usage(
    `has an unknown parameter${quoted}${hint}; parameters are ${rules.query.join(", ")}`,
  );
}

function credentialsRefused({ credentials }: UrlRules): Error {
  return usage(
    `takes no credentials in the URL, because other users of this machine can see them: ${credentials}`,
  );
}

function decode(text: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch {
    throw usage("contains a % that is not followed by two hexadecimal digits");
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/u.test(decoded)) throw usage("contains a control character");
  return decoded;
}
